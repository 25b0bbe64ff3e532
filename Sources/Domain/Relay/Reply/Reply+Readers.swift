import ChatterdBasics
import ChatterdChat
import ChatterdIdentity

// The readers of a reply, here and in other processes, and the pauses of the model for them.
extension Reply {
    /// Subscribes a listener from the start of the reply; the listener gets no call before this returns.
    public func subscribe(_ listener: any ReplyListener) -> ReplySubscription {
        subscribe(listener, from: ReplyPosition(attempt: attempt))
    }

    func subscribe(_ listener: any ReplyListener, from position: ReplyPosition) -> ReplySubscription {
        audience.count += 1
        graceAlarm?.cancel()
        detachBlockedReaders()
        let subscription = ReplySubscription(
            listener, from: position, of: self, lines: lines, scheduler: context.scheduler, limits: context.limits)
        subscription.start()
        return subscription
    }

    /// The end of the content that readers may see.
    var position: ReplyPosition {
        switch phase {
        case .ended: endPosition
        case .handedOver(let follower?): follower.position
        default: content.visible
        }
    }

    /// The follower that serves the readers after a handover.
    private var follower: ReplyFollower? {
        if case .handedOver(let follower) = phase { follower } else { nil }
    }

    func attach(_ subscription: ReplySubscription) {
        if let follower { return follower.attach(subscription) }
        audience.attach(subscription)
        // The only reader, for which the model is paused, may have fallen behind by the lines in flight, and has caught up.
        resumeModel()
    }

    func detach(_ subscription: ReplySubscription) {
        if let follower { return follower.detach(subscription) }
        audience.detach(subscription)
    }

    func drained(_ subscription: ReplySubscription) {
        resumeModel()
    }

    func left(_ subscription: ReplySubscription) {
        audience.count -= 1
        if let follower { return follower.left(subscription) }
        checkReaders()
    }

    /// Applies the disconnect policy when the reply has no reader.
    private func checkReaders() {
        guard audience.isAbandonedHere, isGenerating else { return }
        resumeModel()
        guard case .cancel(let policy) = onDisconnect else { return }
        let grace = policy + audience.timeReadElsewhere(at: context.scheduler.now())
        guard grace > .zero else {
            cancelIfAbandoned()
            return
        }
        if graceAlarm == nil {
            graceAlarm = context.scheduler.makeAlarm { [unowned self] in cancelIfAbandoned() }
        }
        graceAlarm?.set(after: grace)
    }

    /// Cancels the reply soon, unless it has a reader then.
    ///
    /// A reader on another shard may have the head of its response already, while its `addFollower` still waits in this shard's queue.
    /// The check comes behind it in that queue.
    private func cancelIfAbandoned() {
        context.scheduler.run(with: self) { reply in
            guard reply.audience.isAbandonedHere, !reply.isReadElsewhere else { return }
            reply.cancel(.abandoned)
        }
    }

    /// Whether the answer is not over.
    private var isGenerating: Bool {
        switch phase {
        case .waiting, .generating: true
        case .storing, .ended, .handedOver: false
        }
    }

    /// Whether another process reads the reply.
    private var isReadElsewhere: Bool { audience.timeReadElsewhere(at: context.scheduler.now()) > .zero }

    /// Records that another process reads the reply, and makes the reply's text available to it.
    func receiveReadSignal() {
        let isFirst = !isReadElsewhere
        audience.isReadElsewhere(until: context.scheduler.now() + ReplySignal.readLifetime)
        if isFirst, content.end.total > content.journalled.total {
            context.onDirty(self)
            context.flushJournal()
        }
        detachBlockedReaders()
        checkReaders()
    }

    /// Adds a follower on another shard, which is signalled whenever there is more.
    func addFollower(_ signal: CrossShardSignal) {
        audience.add(signal)
        graceAlarm?.cancel()
        detachBlockedReaders()
        signal.signal()
    }

    /// Removes a follower that has no more readers.
    func removeFollower(_ signal: CrossShardSignal) {
        audience.remove(signal)
        checkReaders()
    }

    /// Sends the position in the queue of a model server to the readers; `nil` when the reply no longer waits.
    func isQueued(at position: QueuePosition?) {
        audience.setQueuePosition(position)
        audience.signalFollowers()
    }

    /// Sends the steps to the readers, after they are stored.
    func publish(_ steps: AnswerSteps) {
        audience.setSteps(ReplySteps(steps))
        audience.signalFollowers()
    }

    func page(from position: ReplyPosition) async throws(RelayError) -> ReplyPage {
        if let follower { return try await follower.page(from: position) }
        if let page = memoryPage(from: position) { return page }
        var page = try await context.readPage(record, position)
        page.steps = page.steps ?? audience.steps
        return page
    }

    /// The content from a position on; `nil` if it is no longer in memory.
    func memoryPage(from position: ReplyPosition) -> ReplyPage? {
        var page = content.page(from: position)
        page?.ending = ending
        page?.queuePosition = audience.queuePosition
        page?.steps = audience.steps
        page?.interimError = readerError.value
        return page
    }

    // MARK: - Slow readers

    /// Pauses the model for a full reader if it is the only one. Otherwise the reader falls behind.
    func readerIsFull(_ subscription: ReplySubscription) {
        guard mayPauseForReader, audience.hasOneReader(at: context.scheduler.now()) else {
            subscription.fallBehind()
            return
        }
        guard !isPausedForReader, case .generating(let generator) = phase else { return }
        isPausedForReader = true
        generator.pauseGeneration()
        guard generator.usesSlot else { return }
        if pausedSlotAlarm == nil {
            pausedSlotAlarm = context.scheduler.makeAlarm { [unowned self] in checkPausedSlot() }
        }
        pausedSlotAlarm?.set(after: context.limits.pausedSlotTimeout)
    }

    private func resumeModel() {
        guard isPausedForReader else { return }
        isPausedForReader = false
        pausedSlotAlarm?.cancel()
        if case .generating(let generator) = phase {
            generator.resumeGeneration()
        }
    }

    /// Lets full readers fall behind, so that the model resumes.
    private func detachBlockedReaders() {
        guard isPausedForReader else { return }
        for subscription in audience.members.elements where subscription.isFull {
            subscription.fallBehind()
        }
        resumeModel()
    }

    /// Resumes the model without its only reader if other replies wait for its slot.
    private func checkPausedSlot() {
        guard isPausedForReader else { return }
        context.scheduler.spawn(with: self) { await $0.resumeIfSlotIsWanted() }
    }

    private func resumeIfSlotIsWanted() async {
        guard case .generating(let generator) = phase else { return }
        let isWanted = await generator.isSlotWanted()
        guard isPausedForReader else { return }
        if isWanted {
            mayPauseForReader = false
            detachBlockedReaders()
        } else {
            pausedSlotAlarm?.set(after: context.limits.pausedSlotTimeout)
        }
    }
}
