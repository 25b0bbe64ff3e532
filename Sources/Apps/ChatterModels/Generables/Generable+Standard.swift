extension String: Generable, PartialValue {
    public typealias Partial = String

    public static var schema: Schema { .string() }

    public init(from content: StructuredContent) throws {
        guard case .string(let text) = content else { throw content.mismatch("string") }
        self = text
    }

    /// The text so far.
    public init?(partial content: StructuredContent) {
        switch content {
        case .string(let text), .unfinishedString(let text): self = text
        default: return nil
        }
    }

    public var generableContent: StructuredContent { .string(self) }
}

extension Int: Generable, PartialValue {
    public typealias Partial = Int

    public static var schema: Schema { .integer() }

    public init(from content: StructuredContent) throws {
        guard let value = content.exactInteger else { throw content.mismatch("integer") }
        self = value
    }

    public init?(partial content: StructuredContent) {
        try? self.init(from: content)
    }

    public var generableContent: StructuredContent { .integer(self) }
}

extension Double: Generable, PartialValue {
    public typealias Partial = Double

    public static var schema: Schema { .number() }

    public init(from content: StructuredContent) throws {
        guard let value = content.double else { throw content.mismatch("number") }
        self = value
    }

    public init?(partial content: StructuredContent) {
        try? self.init(from: content)
    }

    public var generableContent: StructuredContent { .number(self) }
}

extension Bool: Generable, PartialValue {
    public typealias Partial = Bool

    public static var schema: Schema { .boolean }

    public init(from content: StructuredContent) throws {
        guard case .bool(let value) = content else { throw content.mismatch("boolean") }
        self = value
    }

    public init?(partial content: StructuredContent) {
        try? self.init(from: content)
    }

    public var generableContent: StructuredContent { .bool(self) }
}
