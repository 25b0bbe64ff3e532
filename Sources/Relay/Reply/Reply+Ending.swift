import ChatterdLanguageModels

/// The end of a reply.
///
/// The reply announces an end only after the store has confirmed that this process closed the row with exactly this text and this
/// last event. Until then readers get an error, which is no end: they resume later. See docs/durability.md.
extension Reply {
    /// Runs a step. If it returns the last line or throws, the reply ends.
    func drive(_ step: () async throws(RelayError) -> [UInt8]?) async {
        do throws(RelayError) {
            guard let lastLine = try await step() else { return }
            await close(with: ReplyEnding(state: .complete, lastEvent: lastLine))
        } catch {
            await end(for: error)
        }
    }

    private func end(for failure: RelayError) async {
        switch failure.code {
        case .interrupted:
            // Another process has closed or adopted the row, or the row is gone.
            handOver()
        case .conversationReplaced:
            leave(failure)
        default:
            guard await !isLeftToOthers(after: failure) else { return leave(failure) }
            await close(with: ReplyEnding(failure, model: model, at: service.scheduler.timeOfDay()))
        }
    }

    // MARK: - Closing the row

    /// The content of a close. After each permanent refusal the reply asks for less.
    private enum Wish {
        /// The actual ending with the text.
        case whole(ReplyEnding)
        /// The text of a complete answer with an error that says that the answer was not stored.
        case marked(ReplyEnding)
        /// The ending without the text.
        case bare(ReplyEnding)

        var ending: ReplyEnding {
            switch self {
            case .whole(let ending), .marked(let ending), .bare(let ending): ending
            }
        }
    }

    /// Closes the row and announces the end after the confirmation.
    ///
    /// While the outcome is unknown, every retry asks for the same content, because an earlier try may still be committed and
    /// another ending could contradict it. `CHATTERD_MAX_REPLIES` also limits the replies that wait here.
    private func close(with ending: ReplyEnding) async {
        phase = .storing
        let clock = service.scheduler
        let timeout = service.limits.storeRetryTimeout
        var wish = Wish.whole(ending)
        var deadline = clock.now() &+ UInt64(timeout / .nanoseconds(1))
        var delay = Duration.milliseconds(50)
        var mustConfirmRestart = false
        while true {
            do throws(RelayError) {
                if mustConfirmRestart {
                    try await confirmRestart()
                    mustConfirmRestart = false
                }
                try await store(wish)
                return confirmed(wish)
            } catch {
                switch error.code {
                case .interrupted where isRestartUnconfirmed && !mustConfirmRestart:
                    // The store may have restarted the reply. It closes only the next attempt then.
                    mustConfirmRestart = true
                case .interrupted: return handOver()
                case .conversationReplaced: return leave(error)
                case .storeUnavailable:
                    guard !service.isStopping else { return leave(unconfirmed(ending, error)) }
                    let now = clock.now()
                    if now >= deadline {
                        sendAway(unconfirmed(ending, error))
                        deadline = now &+ UInt64(max(timeout, .seconds(1)) / .nanoseconds(1))
                    }
                    await pause.wait(atMost: min(delay, .nanoseconds(deadline - now)))
                    delay = min(delay * 2, trouble == nil ? .seconds(1) : .seconds(5))
                default:
                    guard let next = less(than: wish, after: error) else { return leave(refused(error)) }
                    wish = next
                }
            }
        }
    }

    /// Sends one close to the store.
    private func store(_ wish: Wish) async throws(RelayError) {
        if content.isBeingJournalled {
            // The journal must not arrive after the end.
            await withCheckedContinuation { journalRound = $0 }
        }
        var rest = content.rest
        if case .bare = wish {
            rest = ReplyPage(start: ReplyPosition(attempt: rest.start.attempt))
        }
        try await service.store.closeTurn(
            turn,
            with: ClosingReply(
                id: id, journalled: rest.start, text: rest.text, thinking: rest.thinking, toolCalls: rest.toolCalls,
                ending: wish.ending, account: maker?.account ?? ReplyAccount()))
    }

    /// The next smaller content after a refusal; `nil` after the smallest.
    private func less(than wish: Wish, after error: RelayError) -> Wish? {
        switch wish {
        case .whole(let ending) where ending.state == .complete:
            let failure = RelayError(
                .replyNotStored, "The answer could not be stored. Ask again.", detail: error.detail)
            return .marked(ReplyEnding(failure, model: model, at: service.scheduler.timeOfDay()))
        case .whole(let ending), .marked(let ending): return .bare(ending)
        case .bare: return nil
        }
    }

    private func confirmed(_ wish: Wish) {
        if case .bare = wish, !isEmpty {
            // The readers have more text than the store.
            handOver()
        } else {
            announce(wish.ending)
        }
    }

    // MARK: - The readers

    /// Gives the readers the stored end.
    private func announce(_ ending: ReplyEnding) {
        // An error event lacks the content of a last line that could not be stored; a page has it.
        let isHidden = ending.state != .complete && content.visible != content.end
        content.showAll()
        phase = .ended(ending)
        for subscription in audience.members {
            if isHidden {
                subscription.fallBehind()
            } else {
                subscription.receive(ending: ending, at: endPosition)
            }
        }
        poke()
        finish()
    }

    /// Ends the reply in this process without an end. Its readers get an error, and resume later or elsewhere.
    func leave(_ error: RelayError) {
        sendAway(error)
        handOver()
    }

    /// Makes the readers read from the store, because this process no longer determines the reply.
    ///
    /// They get the missing text, and the end as soon as the row is closed. They get a `reset` first if they have more text than
    /// the store, or another attempt.
    private func handOver() {
        finish()
        var follower: ReplyFollower?
        if readerCount > 0 {
            follower = service.follower(of: record, from: content.visible)
            follower?.takeOver(readers: readerCount)
        }
        for subscription in audience.members {
            subscription.fallBehind()
        }
        phase = .handedOver(follower)
        poke()
    }

    /// Sends an error to the readers that are up to date. Followers on other shards fetch it.
    private func sendAway(_ error: RelayError) {
        trouble = error
        for subscription in audience.members {
            subscription.receive(error: error)
        }
        poke()
    }

    private func unconfirmed(_ ending: ReplyEnding, _ error: RelayError) -> RelayError {
        if let cause = ending.cause, cause.code == .shuttingDown { return cause }
        let state =
            ending.state == .complete
            ? "The answer is complete, but the database has not confirmed yet that it is stored."
            : "The answer has ended, but the database has not confirmed yet that its end is stored."
        return RelayError(.storeUnavailable, "\(state) Continue at /replies/\(id).", detail: error.detail)
    }

    private func refused(_ error: RelayError) -> RelayError {
        RelayError(
            .storeUnavailable,
            "The database refuses to store the end of this answer. Continue at /replies/\(id), or ask again.",
            detail: error.detail)
    }

    private func finish() {
        graceAlarm?.cancel()
        maker = nil
        service.finished(self)
    }

    var endPosition: ReplyPosition {
        var position = content.visible
        position.isEnd = true
        return position
    }
}
