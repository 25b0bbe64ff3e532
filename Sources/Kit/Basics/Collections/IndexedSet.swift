/// A set of objects in an array, with insertion and removal in constant time. An object is in one set at most. Removal changes the
/// order.
public struct IndexedSet<Element: IndexedSetElement> {
    @usableFromInline var storage: [Element] = []

    /// The elements. The index of each one is its `setIndex`.
    @inlinable public var elements: [Element] { storage }

    /// Creates an empty set.
    @inlinable public init() {}

    /// The number of elements.
    @inlinable public var count: Int { storage.count }

    /// Whether the set has no element.
    @inlinable public var isEmpty: Bool { storage.isEmpty }

    /// Inserts an element. Returns `false` if the element is in a set already.
    @inlinable @discardableResult
    public mutating func insert(_ element: Element) -> Bool {
        guard element.setIndex == nil else { return false }
        element.setIndex = storage.count
        storage.append(element)
        return true
    }

    /// Removes an element; the last element moves to its index. Returns `false` if the element is in no set.
    @inlinable @discardableResult
    public mutating func remove(_ element: Element) -> Bool {
        guard let index = element.setIndex else { return false }
        precondition(index < storage.count && storage[index] === element, "the element is in another set")
        element.setIndex = nil
        let last = storage.removeLast()
        if last !== element {
            storage[index] = last
            last.setIndex = index
        }
        return true
    }

    /// Removes the elements that match; the others keep their order.
    @inlinable public mutating func removeAll(where matches: (Element) -> Bool) {
        var kept = 0
        for index in storage.indices {
            let element = storage[index]
            if matches(element) {
                element.setIndex = nil
            } else {
                element.setIndex = kept
                storage[kept] = element
                kept += 1
            }
        }
        storage.removeLast(storage.count - kept)
    }
}

/// An element of an `IndexedSet`. It stores its own index, so that the set finds it in constant time.
public protocol IndexedSetElement: AnyObject {
    /// The index of the element in its set; `nil` outside a set. Only the set changes it.
    var setIndex: Int? { get set }
}
