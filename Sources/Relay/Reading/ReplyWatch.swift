import ChatterdBasics

/// How a reply, on its shard, tells a follower on another one that there is more; at most one call is on its way.
final class ReplyWatch: @unchecked Sendable {
    private let isPoked = Lock(false)
    private let run: @Sendable (@escaping @Sendable () -> Void) -> Void
    /// Touched on the follower's shard only.
    private var handler: (() -> Void)?

    /// - Parameters:
    ///   - scheduler: that of the follower's shard.
    ///   - handler: called there.
    init(on scheduler: Scheduler, handler: @escaping () -> Void) {
        run = scheduler.run
        self.handler = handler
    }

    /// Has the handler called soon. From any thread.
    func poke() {
        let isFirst = isPoked.withLock { isPoked in
            defer { isPoked = true }
            return !isPoked
        }
        guard isFirst else { return }
        run { [self] in
            isPoked.withLock { $0 = false }
            handler?()
        }
    }

    /// Calls no more; on the follower's shard.
    func cancel() {
        handler = nil
    }
}
