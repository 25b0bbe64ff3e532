/// An object that is being generated: its members so far, by their names.
public struct PartialObject: PartialValue, Hashable {
    /// The JSON so far.
    public let content: StructuredContent

    public init?(partial content: StructuredContent) {
        self.content = content
    }

    /// The member so far; `nil` before it has begun.
    public func member<Value: Generable>(_ name: String, as type: Value.Type) -> Value.Partial? {
        content[name].flatMap { Value.Partial(partial: $0) }
    }
}
