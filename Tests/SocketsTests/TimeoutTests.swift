import ChatterdBasics
import ChatterdSockets
import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct TimeoutTests {
    let shard: Shard

    init() throws {
        shard = try TestShard.any()
    }

    /// The value of an operation within a limit; `nil` after `TimeoutError`.
    private func result<Value: Sendable>(
        within limit: Duration, _ operation: @escaping @Sendable () async -> Value
    ) async -> Value? {
        await Task(executorPreference: shard) { [shard] in
            let value: Value? = try? await shard.withTimeout(limit, operation)
            #expect(shard.isCurrent)
            return value
        }.value
    }

    @Test func valueIsReturnedBeforeTheLimit() async {
        let shard = shard
        let value = await result(within: .seconds(600)) {
            await Task.yield()
            return shard.isCurrent
        }
        #expect(value == true)
    }

    @Test func operationIsCancelledAtTheLimit() async {
        let wasCancelled = await result(within: .seconds(600)) { [shard] in
            let cancelled = AsyncStream<Bool>.makeStream()
            let value = try? await shard.withTimeout(.milliseconds(1)) {
                await withTaskCancellationHandler {
                    for await _ in AsyncStream<Never>.makeStream().stream {}
                } onCancel: {
                    cancelled.continuation.yield(true)
                }
                return 1
            }
            #expect(value == nil)
            for await isCancelled in cancelled.stream { return isCancelled }
            return false
        }
        #expect(wasCancelled == true)
    }

    @Test func operationThatIgnoresItsCancellationIsNotAwaited() async {
        let (finished, continuation) = AsyncStream<Void>.makeStream()
        let value = await result(within: .milliseconds(1)) {
            // Ends only after the caller has its error.
            for await _ in finished {}
            return 1
        }
        #expect(value == nil)
        continuation.finish()
    }

    @Test func cancellationOfTheCallerReachesTheOperation() async {
        let shard = shard
        let (started, continuation) = AsyncStream<Void>.makeStream()
        let caller = Task(executorPreference: shard) {
            try? await shard.withTimeout(.seconds(600)) {
                continuation.finish()
                // Suspends until the cancellation.
                for await _ in AsyncStream<Never>.makeStream().stream {}
                return Task.isCancelled
            }
        }
        for await _ in started {}
        caller.cancel()
        #expect(await caller.value == true)
    }
}
