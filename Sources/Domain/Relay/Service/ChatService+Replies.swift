import ChatterdBasics
import ChatterdChat
import ChatterdIdentity

/// Reading and stopping replies, on the shard or process that generates them.
extension ChatService {
    /// Finds a reply, of an owner if `owner` is given. If its owner is dead, the reply is closed first, or another process adopts it.
    public func find(_ id: ReplyID, of owner: Owner? = nil) async throws(RelayError) -> ReplyRecord {
        var record = try await store.findReply(id)
        if let found = record, found.isAbandoned, found.state == nil, await settle(found.turn) {
            record = try await store.findReply(id)
        }
        guard let record, owner == nil || owner == record.turn.conversation.owner else {
            throw Self.replyNotFound
        }
        return record
    }

    /// The error for a reply that does not exist, or that the client may not know of.
    public static let replyNotFound = RelayError(.replyNotFound, "There is no such reply.")

    /// Closes a turn of a dead process. Returns whether the turn is closed now.
    private func settle(_ turn: Turn) async -> Bool {
        // The store may refuse the call or be unavailable. The reply is then as it was found.
        (try? await store.settleTurn(turn, isAbandonedHere: false, closesRegenerated: false)) ?? false
    }

    /// Subscribes a listener to a reply from a position on. The listener gets no call before this returns.
    public func subscribe(
        _ listener: any ReplyListener, to record: ReplyRecord, from position: ReplyPosition
    ) -> ReplySubscription {
        if let reply = reply(record.id) {
            return reply.subscribe(listener, from: position)
        }
        return follower(of: record, from: position).subscribe(listener, from: position)
    }

    func lines(of record: ReplyRecord) -> ReplyLines {
        ReplyLines(model: record.model, createdAt: record.createdAtNanoseconds)
    }

    /// Reads the whole content of a reply, and its ending if it has ended. The last event has no text of its own.
    ///
    /// - Parameter memory: a reservation that grows to the size of the page, the document and the output.
    /// - Throws: `overloaded` if the budget has no memory for them.
    public func readWhole(
        _ record: ReplyRecord, in memory: MemoryReservation? = nil
    ) async throws(RelayError) -> ReplyPage {
        var whole = ReplyPage(start: ReplyPosition(attempt: record.attempt))
        while true {
            if let memory, !memory.grow(to: 3 * (whole.end.total + (whole.steps?.size ?? 0)), for: .result) {
                throw RelayError(.overloaded, memory.refusal)
            }
            let page = try await page(of: record, from: whole.end, steps: whole.steps?.version ?? "")
            if page.start != whole.end {
                // The reply has restarted.
                let steps = whole.steps
                whole = page
                whole.steps = page.steps ?? steps
            } else {
                whole.text += page.text
                whole.thinking += page.thinking
                whole.toolCalls += page.toolCalls
                whole.ending = page.ending
                whole.steps = page.steps ?? whole.steps
            }
            if let ending = whole.ending {
                whole.ending = lines(of: record).ending(ending)
                return whole
            }
            if page.isEmpty { return whole }
        }
    }

    /// Stops a reply, and waits for its end until a timeout.
    ///
    /// - Returns: the current state of the reply.
    public func stop(_ record: ReplyRecord) async throws(RelayError) -> ReplyRecord {
        guard record.state == nil else { return record }
        if let home = directory[record.id] {
            home.run { $0.reply(record.id)?.cancel(.stopped) }
        } else if record.isAbandoned {
            // No living process can receive a signal.
            _ = try await store.settleTurn(record.turn, isAbandonedHere: false, closesRegenerated: true)
        } else {
            try await store.signal(.stop, to: record)
        }
        let start = scheduler.now()
        let pause = Pause(on: scheduler)
        var backoff = Backoff(first: .milliseconds(10), longest: .milliseconds(200))
        while true {
            await pause.wait(atMost: backoff.next())
            let found = try await find(record.id)
            if found.state != nil || scheduler.now() - start >= limits.stopTimeout { return found }
        }
    }

    /// Answers a call of a tool that waits for an approval, in the place of a person. The same answer may be given again, at any time.
    ///
    /// - Throws: `callNotAsked` if the call does not wait, or has another answer.
    public func answer(
        _ answer: CallApprovals.Answer, to place: StepPlace, of record: ReplyRecord
    ) async throws(RelayError) {
        let (turn, id) = (record.turn, record.id)
        let stored = try await store.steps(of: turn, id: id)
        let isAsked = await scheduler.work(stored.members.count) {
            AnswerSteps(in: stored.members.span)?[place]?.state == .asked
        }
        let approvals =
            isAsked
            ? try await store.answer(answer, to: place, of: turn, id: id)
            : try await store.approvals(of: turn, id: id)
        guard let first = approvals[place] else {
            throw RelayError(.callNotAsked, "The reply has no call that waits for an approval at this place.")
        }
        guard first == answer else { throw RelayError(.callNotAsked, first.refusal) }
        if let home = directory[id] {
            home.run { $0.receive(ReplySignal(id: id, kind: .answer)) }
        } else if isAsked {
            // The owner looks for answers by itself if the signal is lost.
            try? await store.signal(.answer, to: record)
        }
    }

    /// Reads one page of a reply, from memory or from the store.
    ///
    /// - Parameter steps: the version of the steps that the caller has, empty for none; the page of a reply that runs has newer ones. `nil` if
    ///   the caller needs none.
    /// - Throws: `conversationReplaced` if the reply is deleted.
    public func page(
        of record: ReplyRecord, from position: ReplyPosition, steps: String? = nil
    ) async throws(RelayError) -> ReplyPage {
        // A reply with a stored end is complete in the store. The memory may not know the end yet.
        if record.state == nil, let home = directory[record.id],
            let page = await memoryPage(of: record.id, from: position, in: home)
        {
            return page
        }
        do throws(RelayError) {
            return try await store.readReply(record, from: position, steps: steps)
        } catch  where error.code == .replyNotFound {
            throw RelayError.conversationGone
        }
    }

    /// Reads a page from the memory of the service that generates the reply.
    private func memoryPage(
        of id: ReplyID, from position: ReplyPosition, in home: ChatServiceReference
    ) async -> ReplyPage? {
        if home.scheduler === scheduler { return reply(id)?.memoryPage(from: position) }
        return await withUnsafeContinuation { continuation in
            home.run { [scheduler] service in
                let page = service.reply(id)?.memoryPage(from: position)
                scheduler.run { continuation.resume(returning: page) }
            }
        }
    }
}

extension CallApprovals.Answer {
    /// Why another answer has no effect.
    fileprivate var refusal: String {
        switch self {
        case .approved: "The call has been approved already."
        case .refused: "The call has been refused already."
        case .missed: "The time for an answer is over, so the call is not made."
        }
    }
}
