import Glibc

/// Runs blocking work of the present task on a separate thread, so that it occupies none of the few threads that tasks share. The work
/// keeps the context of the task: a failed expectation in it belongs to its test.
public func blocking<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withTaskExecutorPreference(ThreadExecutor.shared) { @concurrent in try work() }
}

/// Blocks the calling thread until asynchronous work ends.
public func waitFor<Result: Sendable>(_ work: @escaping @Sendable () async throws -> Result) throws -> Result {
    let result = Monitor<Swift.Result<Result, any Error>?>(nil)
    Task {
        do {
            let value = try await work()
            result.withLock { $0 = .success(value) }
        } catch {
            result.withLock { $0 = .failure(error) }
        }
    }
    guard let done = result.wait(upTo: 2 * testTimeout, until: { $0 }) else {
        throw TestFailure("the work has not ended")
    }
    return try done.get()
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

/// Runs each job on a separate thread.
private final class ThreadExecutor: TaskExecutor {
    static let shared = ThreadExecutor()

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        startThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}
