import ChatterdBasics

extension Shard {
    /// Runs an operation on this shard for at most `limit`, and returns its value. The caller must run on this shard.
    ///
    /// At the limit the call throws at once: the task of the operation is cancelled, but not awaited, and its value is discarded. If
    /// the caller's task is cancelled, so is the operation; the call still waits for its value or for the limit.
    ///
    /// - Throws: `TimeoutError` at the limit.
    public func withTimeout<Value: Sendable>(
        _ limit: Duration, _ operation: @escaping @Sendable () async -> Value
    ) async throws(TimeoutError) -> Value {
        preconditionCurrent()
        let race = Confined(TimeoutRace<Value>(), to: self)
        let task = Task(executorPreference: self) {
            let value = await operation()
            race.value.end(.success(value))
        }
        let timer = DeadlineTimer(on: self) {
            task.cancel()
            race.value.end(.failure(TimeoutError()))
        }
        timer.set(after: limit)
        // A timer that is deallocated does not fire.
        defer { timer.cancel() }
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { race.value.begin($0) }
        } onCancel: {
            task.cancel()
        }.get()
    }
}

/// The caller of `withTimeout`, which resumes with the first of two results. Confined to its shard.
private final class TimeoutRace<Value: Sendable> {
    private var continuation: CheckedContinuation<Result<Value, TimeoutError>, Never>?

    func begin(_ continuation: CheckedContinuation<Result<Value, TimeoutError>, Never>) {
        self.continuation = continuation
    }

    func end(_ result: Result<Value, TimeoutError>) {
        continuation.take()?.resume(returning: result)
    }
}

/// An operation that took longer than `Shard.withTimeout` allowed.
public struct TimeoutError: Error, Sendable, Hashable {
    public init() {}
}
