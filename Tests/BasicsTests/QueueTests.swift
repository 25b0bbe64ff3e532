import ChatterdBasics
import Testing

@Suite(.timeLimit(.minutes(30))) struct QueueTests {
    @Test func elementsLeaveInTheOrderOfTheirArrival() {
        var queue = Queue<Int>()
        let none = queue.popFirst()
        #expect(queue.isEmpty && none == nil)
        var next = 0
        for element in 0..<1_000 {
            queue.append(element)
            // The queue grows by two elements for each one that leaves, so that it is compacted meanwhile.
            if element % 3 == 2 {
                #expect(queue.first == next)
                let element = queue.popFirst()
                #expect(element == next)
                next += 1
            }
        }
        #expect(queue.count == 1_000 - next)
        while let element = queue.popFirst() {
            #expect(element == next)
            next += 1
        }
        #expect(next == 1_000 && queue.isEmpty)
    }

    @Test func indicesCountFromTheOldestElement() {
        var queue = Queue<String>()
        for text in ["a", "b", "c", "d"] { queue.append(text) }
        _ = queue.popFirst()
        queue[1] = "C"
        #expect(Array(queue) == ["b", "C", "d"])
        #expect(queue.last == "d" && queue.count == 3)
    }

    @Test func removeAllReturnsTheRemainingElements() {
        var queue = Queue<Int>()
        for element in 0..<200 { queue.append(element) }
        for _ in 0..<150 { _ = queue.popFirst() }
        let rest = queue.removeAll()
        #expect(rest == Array(150..<200))
        #expect(queue.isEmpty)
        queue.append(7)
        #expect(queue.first == 7)
    }

    @Test func removedElementIsReleased() {
        final class Object {}
        var queue = Queue<Object>()
        queue.append(Object())
        queue.append(Object())
        weak let first = queue.first
        #expect(first != nil)
        _ = queue.popFirst()
        #expect(first == nil)
    }
}
