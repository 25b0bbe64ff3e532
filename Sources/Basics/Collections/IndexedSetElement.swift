/// An element of an `IndexedSet`. It stores its own index, so that removing it takes constant time.
public protocol IndexedSetElement: AnyObject {
    /// The element's index in the set that has it; `nil` outside a set. Only the set changes it.
    var setIndex: Int? { get set }
}
