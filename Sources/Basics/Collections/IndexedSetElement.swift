/// An element of an `IndexedSet`. It stores its own index, so that the set finds it in constant time.
public protocol IndexedSetElement: AnyObject {
    /// The index of the element in its set; `nil` outside a set. Only the set changes it.
    var setIndex: Int? { get set }
}
