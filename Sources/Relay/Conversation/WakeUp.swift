/// How the board, from any thread, reaches who waits for a turn. It is touched on its shard only.
final class WakeUp: @unchecked Sendable {
    /// Nothing once the wait is over: the last reference must not end on another shard.
    var sleeper: EarlierTurns?

    init(of sleeper: EarlierTurns) {
        self.sleeper = sleeper
    }
}
