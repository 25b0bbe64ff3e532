import ChatterdBasics
import ChatterdChat

/// The end of a reply.
///
/// The reply announces an end only after the store has confirmed that this process closed the row with exactly this text and this
/// last event. Until then readers get an error, which is no end: they resume later. See docs/durability.md.
extension Reply {
    /// Runs the generation until a model server works. If the answer is complete or the generation throws, the reply ends.
    func run(_ generation: () async throws(RelayError) -> ReplyGenerator.Outcome) async {
        do throws(RelayError) {
            guard case .complete(let lastLine) = try await generation() else { return }
            await close(with: ReplyEnding(state: .complete, lastEvent: lastLine))
        } catch {
            await end(for: error)
        }
    }

    private func end(for failure: RelayError) async {
        switch failure.code {
        case .interrupted:
            // Another process has closed or adopted the row, or the row is gone.
            handOver(.left(facts, .fenced))
        case .conversationReplaced:
            leave(failure, .replaced)
        default:
            guard await !isLeftToOthers(after: failure) else { return leave(failure, .handedOver) }
            await close(with: ReplyEnding(failure, model: model, at: context.scheduler.timeOfDay()))
        }
    }

    // MARK: - Closing the row

    /// Closes the row and announces the end after the confirmation.
    ///
    /// While the outcome is unknown, every retry asks for the same content, because an earlier try may still be committed and
    /// another ending could contradict it. `CHATTERD_MAX_REPLIES` also limits the replies that wait here.
    private func close(with ending: ReplyEnding) async {
        phase = .storing
        let start = context.scheduler.now()
        var ending = ending
        ending.lastEvent = facts.timings.added(to: ending.lastEvent)
        let clock = context.scheduler
        let timeout = context.limits.storeRetryTimeout
        var content = ClosingContent.whole(ending)
        var deadline = clock.now() + timeout
        var backoff = Backoff(first: .milliseconds(50), longest: .seconds(5))
        var mustConfirmRestart = false
        while true {
            do throws(RelayError) {
                if mustConfirmRestart {
                    try await confirmRestart()
                    mustConfirmRestart = false
                }
                try await store(content)
                facts.trace?.record(.store, from: start, to: clock.now())
                return confirm(content)
            } catch {
                switch error.code {
                case .interrupted where isRestartUnconfirmed && !mustConfirmRestart:
                    // The store may have restarted the reply. It closes only the next attempt then.
                    mustConfirmRestart = true
                case .interrupted: return handOver(.left(facts, .fenced))
                case .conversationReplaced: return leave(error, .replaced)
                case .storeUnavailable:
                    guard !context.isStopping else {
                        return leave(unconfirmed(ending, error), .unconfirmed)
                    }
                    let now = clock.now()
                    if now >= deadline {
                        sendAway(unconfirmed(ending, error))
                        deadline = now + max(timeout, .seconds(1))
                    }
                    let longest = readerError.value == nil ? Duration.seconds(1) : .seconds(5)
                    await pause.wait(atMost: min(backoff.next(), longest, deadline - now))
                default:
                    let now = context.scheduler.timeOfDay()
                    guard let less = content.reduced(after: error, model: model, at: now) else {
                        return leave(refused(error), .unconfirmed)
                    }
                    content = less
                }
            }
        }
    }

    /// Sends one close to the store.
    private func store(_ closing: ClosingContent) async throws(RelayError) {
        // Rows of the reply must not arrive after the end.
        await waitForJournal(all: false)
        var rest = content.rest
        if case .ending = closing {
            rest = ReplyPage(start: ReplyPosition(attempt: rest.start.attempt))
        }
        try await context.store.closeTurn(
            turn,
            with: ClosingReply(
                id: id, journalled: rest.start, text: rest.text, thinking: rest.thinking, toolCalls: rest.toolCalls,
                ending: closing.ending, provenance: generator?.provenance ?? ReplyProvenance(),
                history: await answered(closing)))
    }

    /// The answer as the client sends it back, if the client keeps its history and the store has its journalled part.
    private func answered(_ closing: ClosingContent) async -> AnsweredHistory? {
        guard let history = clientHistory, case .whole = closing, let answer = try? await completeContent() else {
            return nil
        }
        return AnsweredHistory(history: history, text: answer.text, toolCalls: answer.toolCalls)
    }

    @inline(never)
    private func confirm(_ closing: ClosingContent) {
        if case .ending = closing, !isEmpty {
            // The readers have more text than the store.
            handOver(.ended(facts, closing.ending))
        } else {
            announce(closing.ending)
        }
    }

    // MARK: - Readers

    /// Gives the readers the stored end.
    private func announce(_ ending: ReplyEnding) {
        // An error event lacks the content of a last line that could not be stored; a page has it.
        let isHidden = ending.state != .complete && content.visible != content.end
        content.showAll()
        phase = .ended(ending)
        context.observe(.ended(facts, ending))
        for subscription in audience.members.elements {
            if isHidden {
                subscription.fallBehind()
            } else {
                subscription.receive(ending: ending, at: endPosition)
            }
        }
        audience.signalFollowers()
        finish()
    }

    /// Ends the reply in this process without an end. Its readers get an error, and resume later or elsewhere.
    @inline(never)
    func leave(_ error: RelayError, _ departure: ReplyEvent.Departure) {
        sendAway(error)
        handOver(.left(facts, departure))
    }

    /// Makes the readers read from the store, because this process no longer determines the reply.
    ///
    /// They get the missing text, and the end as soon as the row is closed. They get a `reset` first if they have more text than
    /// the store, or another attempt.
    @inline(never)
    private func handOver(_ event: ReplyEvent) {
        context.observe(event)
        finish()
        var follower: ReplyFollower?
        if audience.count > 0 {
            follower = context.follower(record, content.visible)
            follower?.followsSteps = true
            follower?.adopt(readers: audience.count)
        }
        for subscription in audience.members.elements {
            subscription.fallBehind()
        }
        phase = .handedOver(follower)
        audience.signalFollowers()
    }

    /// Sends an error to the readers that are up to date. Followers on other shards fetch it.
    private func sendAway(_ error: RelayError) {
        readerError = RarelyUsed(error)
        for subscription in audience.members.elements {
            subscription.receive(error: error)
        }
        audience.signalFollowers()
    }

    @inline(never)
    private func unconfirmed(_ ending: ReplyEnding, _ error: RelayError) -> RelayError {
        if let cause = ending.cause, cause.code == .shuttingDown { return cause }
        let state =
            ending.state == .complete
            ? "The answer is complete, but the database has not confirmed yet that it is stored."
            : "The answer has ended, but the database has not confirmed yet that its end is stored."
        return RelayError(.storeUnavailable, "\(state) Continue at /replies/\(id).", detail: error.detail)
    }

    @inline(never)
    private func refused(_ error: RelayError) -> RelayError {
        RelayError(
            .storeUnavailable,
            "The database refuses to store the end of this answer. Continue at /replies/\(id), or ask again.",
            detail: error.detail)
    }

    private func finish() {
        graceAlarm?.cancel()
        generator = nil
        context.onFinished(self)
    }

    var endPosition: ReplyPosition {
        var position = content.visible
        position.isEnd = true
        return position
    }
}
