/// A first-in, first-out queue in an array. Both ends take constant time, averaged over the calls.
public struct Queue<Element> {
    private var storage: [Element?] = []
    private var head = 0
    /// The number of removed elements at which the array is compacted.
    private static var compaction: Int { 64 }

    /// Creates an empty queue.
    public init() {}

    /// The number of elements.
    public var count: Int { storage.count - head }

    /// Whether the queue has no element.
    public var isEmpty: Bool { count == 0 }

    /// The oldest element.
    public var first: Element? { isEmpty ? nil : storage[head] }

    /// Adds an element at the end.
    public mutating func append(_ element: Element) {
        storage.append(element)
    }

    /// Removes and returns the oldest element.
    public mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = storage[head].take()
        head += 1
        if head == storage.count {
            storage.removeAll(keepingCapacity: true)
            head = 0
        } else if head > Self.compaction, head > storage.count / 2 {
            storage.removeSubrange(..<head)
            head = 0
        }
        return element
    }

    /// Removes and returns all elements, the oldest first.
    public mutating func removeAll() -> [Element] {
        defer { self = Queue() }
        return storage[head...].compactMap { $0 }
    }
}
