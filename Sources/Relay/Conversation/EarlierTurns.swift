import ChatterdLanguageModels

/// The turns of a conversation that stand before one, and are to be closed before its model is asked. Confined to its shard.
final class EarlierTurns {
    private let turn: Turn
    private var history: TurnHistory?
    private let id: ReplyID
    private let service: ChatService
    private var cancellation: RelayError?
    private let pause: Pause

    init(before turn: ReopenedTurn, service: ChatService) {
        self.turn = turn.turn
        history = turn.history
        id = turn.id
        self.service = service
        pause = Pause(on: service.scheduler)
    }

    /// Waits for those that the history calls unfinished; returns what the turn has to go on then.
    ///
    /// - Throws: `historyTooLarge`; the reason of `cancel`.
    func wait() async throws(RelayError) -> TurnHistory {
        guard var history = history.take() else { throw Self.startedTwice }
        while history.isUnread || !history.unfinished.isEmpty {
            // The history includes the earlier turns, so it is read again after them and not kept during the wait. The loop waits
            // only once for a turn that cannot be closed.
            let known = history.unfinished
            history = TurnHistory(unreadBehind: known)
            for number in known {
                try await waitForEnd(of: Turn(appID: turn.appID, number: number))
            }
            history = try await readHistory()
            history.unfinished.removeAll { known.contains($0) }
        }
        if let cancellation { throw cancellation }
        guard !history.isTooLarge else {
            throw RelayError(
                .historyTooLarge,
                "The conversation has grown too long to be sent to a model. Start it again with /llmprep.")
        }
        return history
    }

    /// Reads the history. Retries until `memoryTimeout` while the budget has no memory for it.
    private func readHistory() async throws(RelayError) -> TurnHistory {
        let begun = service.scheduler.now()
        while true {
            if let cancellation { throw cancellation }
            do throws(RelayError) {
                return try await service.store.history(of: turn, for: id)
            } catch  where error.code == .overloaded {
                let waited = Duration.nanoseconds(Int64(clamping: service.scheduler.now() &- begun))
                guard waited < service.limits.memoryTimeout else { throw error }
                await pause.wait(atMost: service.limits.turnPoll)
            }
        }
    }

    static let startedTwice = RelayError(.internal, "The reply was started twice.")

    /// Ends the wait.
    func cancel(_ reason: RelayError) {
        cancellation = cancellation ?? reason
        wake()
    }

    /// Has it look again.
    func wake() {
        pause.end()
    }

    private func waitForEnd(of earlier: Turn) async throws(RelayError) {
        let wakeUp = WakeUp(of: self)
        defer {
            wakeUp.sleeper = nil
            service.board.stopWaiting(id, for: earlier)
        }
        while true {
            if let cancellation { throw cancellation }
            let isOpenHere = service.board.whenClosed(earlier, for: id) { [scheduler = service.scheduler] in
                scheduler.run { wakeUp.sleeper?.wake() }
            }
            if isOpenHere {
                await pause.wait(atMost: .seconds(30))
                continue
            }
            let isAbandoned = service.board.isAbandoned(earlier)
            if isAbandoned, try await service.resolveUnconfirmed(of: earlier.appID) { continue }
            do throws(RelayError) {
                if try await service.store.settleTurn(
                    earlier, isAbandoned: isAbandoned, isUnwanted: false)
                {
                    return
                }
            } catch  where error.code == .replyNotStored {
                // Only turns of the dead are marked. The store refuses even the mark: the turn is dead all the same.
                return
            }
            await pause.wait(atMost: service.limits.turnPoll)
        }
    }
}
