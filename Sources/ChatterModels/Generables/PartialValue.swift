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
