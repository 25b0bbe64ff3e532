import ChatterdBasics
import Testing

@testable import ChatterdSockets

@Suite struct HoldQueueTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)

    private func instant(_ nanoseconds: UInt64) -> Instant { Self.start.advanced(byNanoseconds: nanoseconds) }

    @Test func emptyQueueHasNoWait() {
        var queue = HoldQueue<Int>()
        #expect(queue.wait(at: Self.start) == nil)
        #expect(queue.next(at: .distantFuture) == nil)
    }

    @Test func elementsEndTheirWaitInTheirOrder() {
        var queue = HoldQueue<Int>()
        queue.append(1, at: Self.start)
        queue.append(2, at: instant(2_000_000))
        #expect(queue.next(at: instant(4_999_999)) == nil)
        #expect(queue.next(at: instant(5_000_000)) == 1)
        #expect(queue.next(at: instant(5_000_000)) == nil)
        #expect(queue.next(at: instant(9_000_000)) == 2)
        #expect(queue.wait(at: instant(9_000_000)) == nil)
    }

    @Test func waitIsRoundedUpToMilliseconds() {
        var queue = HoldQueue<Int>()
        queue.append(1, at: Self.start)
        #expect(queue.wait(at: Self.start) == 5)
        #expect(queue.wait(at: instant(1)) == 5)
        #expect(queue.wait(at: instant(4_000_000)) == 1)
        #expect(queue.wait(at: instant(4_999_999)) == 1)
        #expect(queue.wait(at: instant(5_000_000)) == 0)
        #expect(queue.wait(at: instant(60_000_000)) == 0)
    }
}
