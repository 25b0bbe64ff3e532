/// A JSON value that a model has generated.
public struct GeneratedContent: Sendable, Hashable, Generable, PartialValue, CustomDebugStringConvertible {
    public typealias Partial = GeneratedContent

    /// The form of the present request.
    @TaskLocal static var requested: Schema?

    /// The value as ChatterModels has it.
    public let content: StructuredContent

    public init(content: StructuredContent) {
        self.content = content
    }

    /// Parses a JSON text.
    ///
    /// - Throws: `JSONFault`.
    public init(json: String) throws {
        content = try StructuredContent(json: json)
    }

    public init(_ value: some Generable) {
        content = value.generableContent
    }

    /// Creates an object.
    public init(properties: KeyValuePairs<String, any Generable>) {
        content = .object(properties.map { StructuredContent.Member($0.key, $0.value.generableContent) })
    }

    /// Creates an array.
    public init(elements: some Sequence<any Generable>) {
        content = .array(elements.map(\.generableContent))
    }

    public init(from content: StructuredContent) {
        self.content = content
    }

    public init?(partial content: StructuredContent) {
        self.content = content
    }

    public static var schema: Schema { requested ?? .object(name: "Content", description: nil, properties: []) }

    public var generableContent: StructuredContent { content }

    public var jsonString: String { content.json }

    public var debugDescription: String { content.json }

    /// Whether the value is complete. A value of a stream is incomplete while its last text grows.
    public var isComplete: Bool { content.isComplete }

    /// The value as a type.
    ///
    /// - Throws: `SchemaViolation`, or an error of the type.
    public func value<Value: Generable>(_ type: Value.Type = Value.self) throws -> Value {
        try Value(from: content)
    }

    /// A member of the object.
    ///
    /// - Throws: `SchemaViolation` if it is missing, or has another type.
    @_disfavoredOverload
    public func value<Value: Generable>(_ type: Value.Type = Value.self, forProperty name: String) throws -> Value {
        try content.member(name, as: Value.self)
    }

    /// A member of the object; `nil` if it is missing or `null`.
    public func value<Value: Generable>(_ type: Value?.Type = Value?.self, forProperty name: String) throws -> Value? {
        try content.member(name, as: Value?.self)
    }
}

extension StructuredContent {
    /// Whether all texts of the value are complete.
    fileprivate var isComplete: Bool {
        switch self {
        case .unfinishedString: false
        case .array(let elements): elements.last?.isComplete ?? true
        case .object(let members): members.last?.value.isComplete ?? true
        default: true
        }
    }
}
