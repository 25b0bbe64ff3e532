/// A first-in, first-out queue in an array. Adding and removing an element take constant time on average. Index 0 is the oldest
/// element.
public struct Queue<Element> {
    /// `nil` before `head`, where the elements are removed.
    @usableFromInline var storage: [Element?] = []
    /// The index of the oldest element in `storage`.
    @usableFromInline var head = 0
    /// The array is compacted when more elements than these, and more than half of the array, are removed.
    @usableFromInline static var compactionThreshold: Int { 64 }

    /// Creates an empty queue.
    @inlinable public init() {}

    /// Adds an element at the end.
    @inlinable public mutating func append(_ element: Element) {
        storage.append(element)
    }

    /// Removes and returns the oldest element; `nil` if the queue is empty.
    @inlinable public mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = storage[head].take()
        head += 1
        if head == storage.count {
            storage.removeAll(keepingCapacity: true)
            head = 0
        } else if head > Self.compactionThreshold, head > storage.count / 2 {
            storage.removeSubrange(..<head)
            head = 0
        }
        return element
    }

    /// Removes and returns all elements, the oldest first.
    @inlinable public mutating func removeAll() -> [Element] {
        let elements = Array(self)
        self = Queue()
        return elements
    }
}

extension Queue: RandomAccessCollection, MutableCollection {
    /// The index of the oldest element.
    @inlinable public var startIndex: Int { 0 }

    /// The index after the newest element.
    @inlinable public var endIndex: Int { storage.count - head }

    /// The element at an index; removing an element changes the indices of the others.
    @inlinable public subscript(index: Int) -> Element {
        get {
            guard let element = storage[head + index] else { preconditionFailure("the index is out of range") }
            return element
        }
        set { storage[head + index] = newValue }
    }
}

extension Queue: Sendable where Element: Sendable {}
