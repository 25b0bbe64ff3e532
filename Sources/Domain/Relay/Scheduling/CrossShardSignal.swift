import ChatterdBasics

/// A signal from any thread to a handler on one shard. Signals that arrive before the handler runs count as one.
final class CrossShardSignal: Sendable {
    /// Touched on the handler's shard only.
    private final class Handler {
        var handler: (() -> Void)?

        init(_ handler: @escaping () -> Void) {
            self.handler = handler
        }
    }

    private let isPending = Lock(false)
    private let scheduler: Scheduler
    private let handler: Confined<Handler>

    /// - Parameters:
    ///   - scheduler: the scheduler of the handler's shard.
    ///   - handler: called there.
    init(on scheduler: Scheduler, handler: @escaping () -> Void) {
        self.scheduler = scheduler
        self.handler = Confined(Handler(handler), to: scheduler)
    }

    /// Schedules a call of the handler. From any thread.
    func signal() {
        let isFirst = isPending.withLock { isPending in
            defer { isPending = true }
            return !isPending
        }
        guard isFirst else { return }
        scheduler.run { [self] in
            isPending.withLock { $0 = false }
            handler.value.handler?()
        }
    }

    /// Releases the handler, on its shard. The last reference to what it captures must not end on another shard.
    func cancel() {
        handler.value.handler = nil
    }
}
