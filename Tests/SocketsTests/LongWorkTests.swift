import ChatterdSockets
import Dispatch
import Testing

@Suite(.timeLimit(.minutes(30))) struct LongWorkTests {
    @Test func workOfUnknownTimeDelaysNoOther() async {
        let (begun, continuation) = AsyncStream.makeStream(of: Void.self)
        let othersAreDone = DispatchSemaphore(value: 0)
        async let unknown: Void = LongWork.run(on: LongWork.unknownSize) {
            continuation.yield()
            othersAreDone.wait()
        }
        for await _ in begun { break }
        await LongWork.run(on: LongWork.size + 1) {}
        await LongWork.run(on: 16 << 20) {}
        othersAreDone.signal()
        await unknown
    }
}
