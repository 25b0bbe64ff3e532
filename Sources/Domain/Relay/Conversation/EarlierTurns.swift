import ChatterdBasics
import ChatterdChat

/// The earlier turns of a conversation, which must be closed before the model of a turn is asked. Confined to its shard.
final class EarlierTurns {
    private let turn: Turn
    private var history: TurnHistory?
    private let id: ReplyID
    private let model: String
    private let passThrough: [RawMember]
    private let context: ReplyContext
    private var cancellation: RelayError?
    private let pause: Pause

    init(before turn: OpenTurn, passThrough: [RawMember], context: ReplyContext) {
        self.turn = turn.turn
        history = turn.history
        id = turn.id
        model = turn.model
        self.passThrough = passThrough
        self.context = context
        pause = Pause(on: context.scheduler)
    }

    /// Whether there is something to wait for: most prompts follow turns that are closed, and come with their history.
    var mustWait: Bool { history.map(Self.mustWait) ?? false }

    private static func mustWait(for history: TurnHistory) -> Bool { history.isUnread || !history.unfinished.isEmpty }

    /// Waits until the turns that the history lists as unfinished are closed.
    ///
    /// - Returns: the history of the turn then.
    /// - Throws: `historyTooLarge`; the reason of `cancel`.
    func wait() async throws(RelayError) -> TurnHistory {
        guard var history = history.take() else { throw Self.startedTwice }
        while Self.mustWait(for: history) {
            // The history includes the earlier turns, so it is read again after them and not kept during the wait. The loop waits
            // only once for a turn that cannot be closed.
            let known = history.unfinished
            history = TurnHistory(unreadBehind: known)
            for number in known {
                try await waitForEnd(of: Turn(conversation: turn.conversation, number: number))
            }
            let reach = context.reach(of: model, passThrough: passThrough, in: turn.conversation)
            history = try await context.readHistory(of: turn, for: id, reach: reach, pause) { [self] in cancellation }
            history.unfinished.removeAll { known.contains($0) }
        }
        if let cancellation { throw cancellation }
        try history.requireSize()
        return history
    }

    static let startedTwice = RelayError(.internal, "The reply was started twice.")

    /// Ends the wait.
    func cancel(_ reason: RelayError) {
        cancellation = cancellation ?? reason
        pause.end()
    }

    private func waitForEnd(of earlier: Turn) async throws(RelayError) {
        let isClosed = CrossShardSignal(on: context.scheduler) { [pause] in pause.end() }
        defer {
            isClosed.cancel()
            context.board.stopWaiting(id, for: earlier)
        }
        while true {
            if let cancellation { throw cancellation }
            let isOpenHere = context.board.whenClosed(earlier, for: id) { isClosed.signal() }
            if isOpenHere {
                await pause.wait(atMost: .seconds(30))
                continue
            }
            let isAbandoned = context.board.isAbandoned(earlier)
            if isAbandoned, try await context.resolveUnconfirmed(earlier.conversation) { continue }
            do throws(RelayError) {
                if try await context.store.settleTurn(earlier, isAbandonedHere: isAbandoned, closesRegenerated: false) {
                    return
                }
            } catch  where error.code == .replyNotStored {
                // Only turns of dead processes are marked. The turn is dead even if the store refuses the mark.
                return
            }
            await pause.wait(atMost: context.limits.turnPoll)
        }
    }
}
