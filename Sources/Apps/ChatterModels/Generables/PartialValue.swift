/// A value that is being generated.
public protocol PartialValue: Sendable {
    /// Creates the value of the JSON so far; `nil` if there is none yet.
    init?(partial content: StructuredContent)
}

/// A value that appears when it is complete: a choice, for example.
public struct WholeValue<Value: Generable>: PartialValue {
    public let value: Value

    public init?(partial content: StructuredContent) {
        if case .unfinishedString = content { return nil }
        guard let value = try? Value(from: content) else { return nil }
        self.value = value
    }
}

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
