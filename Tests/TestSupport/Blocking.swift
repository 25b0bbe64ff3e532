import Glibc

/// Runs blocking work on a thread of its own, so that a waiting test holds none of the few threads that tasks share.
public func blocking<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        startThread { continuation.resume(with: Swift.Result(catching: work)) }
    }
}

/// Starts a detached thread.
public func startThread(_ body: @escaping @Sendable () -> Void) {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    pthread_attr_setstacksize(&attributes, 1 << 20)
    defer { pthread_attr_destroy(&attributes) }
    var thread = pthread_t()
    let box = Unmanaged.passRetained(ThreadBody(body))
    let failure = pthread_create(
        &thread, &attributes,
        { context in
            guard let context else { return nil }
            Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run()
            return nil
        }, box.toOpaque())
    precondition(failure == 0, "no thread for a test: \(failure)")
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}
