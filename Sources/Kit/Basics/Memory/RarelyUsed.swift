/// State that an object seldom has. It costs one word while it is absent.
public struct RarelyUsed<Value> {
    private final class Box {
        var value: Value

        init(_ value: Value) {
            self.value = value
        }
    }

    private var box: Box?

    /// Creates the storage without a value.
    public init() {}

    /// Creates the storage with a value.
    public init(_ value: Value) {
        box = Box(value)
    }

    /// The value; `nil` before the first update.
    public var value: Value? { box?.value }

    /// Changes the value, which starts as `initial`.
    public mutating func update<Result>(
        from initial: @autoclosure () -> Value, _ change: (inout Value) -> Result
    ) -> Result {
        if let box, isKnownUniquelyReferenced(&self.box) { return change(&box.value) }
        let own = Box(box?.value ?? initial())
        box = own
        return change(&own.value)
    }

    /// Changes the value if there is one.
    public mutating func updateIfUsed(_ change: (inout Value) -> Void) {
        guard let value = box?.value else { return }
        update(from: value, change)
    }
}
