import ChatterdBasics
import ChatterdSockets
import ChatterdTestSupport
import Testing

/// Keeps the timer of a test, which may be created and ended on its shard only.
private let kept = Lock<DeadlineTimer?>(nil)

@Suite(.timeLimit(.minutes(30))) struct ShardTests {
    let shard: Shard

    init() throws {
        shard = try TestShard.any()
    }

    @Test func shardEndsWithItsLastReference() throws {
        weak var ended: Shard?
        do {
            let shard = try Shard(index: 0)
            ended = shard
            let ran = Gate()
            shard.run { ran.open() }
            #expect(ran.wait())
        }
        try eventually("the shard ends", isTrue: { ended == nil })
    }

    @Test func taskStaysOnItsShardAcrossAwaits() async {
        let shard = shard
        let stayed = await Task(executorPreference: shard) {
            var stayed = shard.isCurrent
            for _ in 0..<100 {
                await Task.yield()
                stayed = stayed && shard.isCurrent
                await withCheckedContinuation { continuation in
                    // Another thread resumes the task.
                    startThread { continuation.resume() }
                }
                stayed = stayed && shard.isCurrent
            }
            return stayed
        }.value
        #expect(stayed)
        #expect(!shard.isCurrent)
    }

    @Test(.timeLimit(.minutes(30))) func busyTaskDoesNotBlockOtherWork() async throws {
        let shard = shard
        let isOver = Lock(false)
        let task = Task(executorPreference: shard) {
            // Each step makes the next one ready: the shard never runs out of tasks.
            while !isOver.withLock({ $0 }) {
                await Task.yield()
            }
        }
        // A block from another thread, and then a timer, still run.
        await withCheckedContinuation { continuation in
            shard.run {
                let timer = DeadlineTimer(on: shard) { continuation.resume() }
                timer.set(after: .milliseconds(1))
                kept.withLock { $0 = timer }
            }
        }
        isOver.withLock { $0 = true }
        await task.value
        shard.run { kept.withLock { $0 = nil } }
    }

    @Test func tasksOfTwoShardsExchangeValues() async throws {
        let shards = try TestShard.pair()
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
        let sum = Task(executorPreference: shards.0) {
            var sum = 0
            for await number in stream where shards.0.isCurrent {
                sum += number
            }
            return sum
        }
        Task(executorPreference: shards.1) {
            for number in 1...1000 where shards.1.isCurrent {
                continuation.yield(number)
                if number % 100 == 0 {
                    await Task.yield()
                }
            }
            continuation.finish()
        }
        #expect(await sum.value == 500_500)
    }

    @Test func blocksFromManyThreadsAllRunOnTheShardInTheirThreadsOrder() async throws {
        try await blocking { [shard] in
            let threads = 4
            let count = 5000
            let ran = Monitor<[[Int]]>(Array(repeating: [], count: threads))
            let wrong = Monitor(0)
            for thread in 0..<threads {
                startThread { [shard] in
                    for number in 0..<count {
                        shard.run {
                            ran.withLock { $0[thread].append(number) }
                            if !shard.isCurrent {
                                wrong.withLock { $0 += 1 }
                            }
                        }
                    }
                }
            }
            let all = try #require(ran.wait { $0.allSatisfy { $0.count == count } ? $0 : nil })
            #expect(all.allSatisfy { $0 == Array(0..<count) })
            #expect(wrong.withLock { $0 } == 0)
        }
    }

    @Test func blockFromWithinTheShardRunsLater() async throws {
        try await blocking { [shard] in
            let order = Monitor<[Int]>([])
            shard.runAndWait { [shard] in
                shard.run { order.withLock { $0.append(2) } }
                order.withLock { $0.append(1) }
            }
            #expect(order.wait { $0.count == 2 ? $0 : nil } == [1, 2])
        }
    }

    @Test func releasedBufferIsEmptyWhenAcquiredAgain() async throws {
        try await blocking { [shard] in
            shard.runAndWait { [shard] in
                var buffer = shard.acquireBuffer()
                buffer.append("secret")
                shard.releaseBuffer(buffer)
                #expect(shard.acquireBuffer().isEmpty)
            }
        }
    }
}
