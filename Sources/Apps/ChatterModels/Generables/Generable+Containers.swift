extension Array: Generable where Element: Generable {
    public typealias Partial = [Element.Partial]

    public static var schema: Schema { .array(items: Element.schema) }

    public init(from content: StructuredContent) throws {
        guard case .array(let elements) = content else { throw content.mismatch("array") }
        self = try elements.map { try Element(from: $0) }
    }

    public var generableContent: StructuredContent { .array(map(\.generableContent)) }
}

extension Array: PartialValue where Element: PartialValue {
    /// The elements so far; one that has begun is among them if its type permits.
    public init?(partial content: StructuredContent) {
        guard case .array(let elements) = content else { return nil }
        self = elements.compactMap { Element(partial: $0) }
    }
}

extension Optional: PromptRepresentable where Wrapped: Generable {
    public var chunks: [ContentChunk] { [.structured(generableContent)] }
}

extension Optional: Generable where Wrapped: Generable {
    public typealias Partial = Wrapped.Partial?

    public static var schema: Schema { .optional(Wrapped.schema) }

    public init(from content: StructuredContent) throws {
        self = content == .null ? nil : try Wrapped(from: content)
    }

    public var generableContent: StructuredContent { self?.generableContent ?? .null }
}

extension Optional: PartialValue where Wrapped: PartialValue {
    public init?(partial content: StructuredContent) {
        self = content == .null ? nil : Wrapped(partial: content)
    }
}

/// An enumeration of texts is generable without further code: `enum Color: String, CaseIterable, Generable { case red, green }`.
extension Generable where Self: RawRepresentable, Self: CaseIterable, RawValue == String {
    public static var schema: Schema { .choice("\(Self.self)", of: allCases.map(\.rawValue)) }

    public init(from content: StructuredContent) throws { try self.init(choice: content) }

    public var generableContent: StructuredContent { .string(rawValue) }

    fileprivate init(choice content: StructuredContent) throws {
        guard case .string(let text) = content else { throw content.mismatch("string") }
        guard let value = Self(rawValue: text) else {
            throw SchemaViolation(
                path: "$", reason: "is not one of \(Self.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        self = value
    }
}

/// The same for one that is `Codable`, to which two extensions apply.
extension Generable where Self: RawRepresentable, Self: CaseIterable, Self: Codable, RawValue == String {
    public init(from content: StructuredContent) throws { try self.init(choice: content) }

    public var generableContent: StructuredContent { .string(rawValue) }
}
