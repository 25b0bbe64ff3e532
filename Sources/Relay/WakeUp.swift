/// How the board, from any thread, reaches a reply that waits. Its reply is touched on the reply's shard only.
final class WakeUp: @unchecked Sendable {
    /// Nothing once the wait is over: the last reference to a reply must not end on another shard.
    var reply: Reply?

    init(of reply: Reply) {
        self.reply = reply
    }
}
