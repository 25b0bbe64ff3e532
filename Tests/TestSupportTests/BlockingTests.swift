import ChatterdTestSupport
import Glibc
import Testing

@Suite(.timeLimit(.minutes(30))) struct BlockingTests {
    @Test func blockingWorkHasAThreadOfItsOwnAndBelongsToItsTest() async throws {
        let name = Test.current?.name
        let first = try await blocking { (pthread_self(), Test.current?.name) }
        #expect(first.1 == name)
        let (isWaiting, gate) = (Gate(), Gate())
        async let waiting = blocking {
            isWaiting.open()
            return (gate.wait(), pthread_self())
        }
        async let opening = blocking {
            // Both threads exist at once, because the next thread may get the number of an ended one.
            isWaiting.wait()
            gate.open()
            return pthread_self()
        }
        let (waited, opened) = try await (waiting, opening)
        #expect(waited.0)
        #expect(waited.1 != opened)
    }

    @Test func threadCanWaitForATask() async throws {
        let number = try await blocking {
            try waitFor {
                await Task.yield()
                return 7
            }
        }
        #expect(number == 7)
    }
}
