import LanguageModels

/// How a reply comes to its end.
///
/// An end is announced only when the store has confirmed that this process closed the row with just that text and that last
/// event. As long as that is open, readers get an error, which is no end: they read on later. See docs/durability.md.
extension Reply {
    /// Takes a step; if that gives the last line, or an error, the reply comes to its end.
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
            // Another process has closed the row or taken it over, or the row is gone.
            handOver()
        case .conversationReplaced:
            leave(failure)
        default:
            guard await !isLeftToOthers(after: failure) else { return leave(failure) }
            await close(with: ReplyEnding(failure, model: model, at: service.scheduler.timeOfDay()))
        }
    }

    // MARK: - Closing the row

    /// What is asked of the store: less each time it refuses, for good, what it was asked before.
    private enum Wish {
        /// The ending that the reply came to, with its text.
        case whole(ReplyEnding)
        /// The text of a whole answer, marked as not stored.
        case marked(ReplyEnding)
        /// An ending without the text.
        case bare(ReplyEnding)

        var ending: ReplyEnding {
            switch self {
            case .whole(let ending), .marked(let ending), .bare(let ending): ending
            }
        }
    }

    /// Closes the row, and announces the end when that is confirmed.
    ///
    /// While the outcome is unknown it asks for the same again: an earlier try may yet be committed, so another ending could
    /// contradict what the store has. `CHATTERD_MAX_REPLIES` bounds the replies that wait here, as all others.
    private func close(with ending: ReplyEnding) async {
        phase = .storing
        let clock = service.scheduler
        let timeout = service.limits.storePatience
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
                    // The restart may have come through: then the store closes the next attempt only.
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

    /// Asks the store once.
    private func store(_ wish: Wish) async throws(RelayError) {
        if content.isBeingJournalled {
            // What is on its way must not come after the end.
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

    /// What is asked for when the store has refused a wish; nil when nothing less is left.
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
            // The readers have more than what is stored.
            handOver()
        } else {
            announce(wish.ending)
        }
    }

    // MARK: - The readers

    /// Tells the readers the end, which is stored.
    private func announce(_ ending: ReplyEnding) {
        // An error does not carry what a last line did that could not be stored: a page brings it.
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

    /// Ends the reply in this process without an end: its readers get an error, and read on later or elsewhere.
    func leave(_ error: RelayError) {
        sendAway(error)
        handOver()
    }

    /// Has the readers read what is stored: this process has nothing to say of the reply any more.
    ///
    /// They get what they lack, after a `reset` if they have more than is stored or another attempt, and the end that the row
    /// is closed with, be it later.
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

    /// Gives the readers who have got everything an error; those on other shards ask for it.
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
            ? "The answer is whole, but the database has not confirmed yet that it is stored."
            : "The answer has ended, but the database has not confirmed yet that its end is stored."
        return RelayError(.storeUnavailable, "\(state) Read on at /replies/\(id).", detail: error.detail)
    }

    private func refused(_ error: RelayError) -> RelayError {
        RelayError(
            .storeUnavailable,
            "The database refuses to store how this answer ended. Read on at /replies/\(id), or ask again.",
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
