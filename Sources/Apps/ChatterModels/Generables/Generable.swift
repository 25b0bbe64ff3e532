/// A type whose values a model can generate.
///
/// Without a macro, a type lists its members once in `schema`, and once in `init(from:)`:
///
///     struct Paper: Generable {
///         let title: String
///         let keywords: [String]
///
///         static let schema = Schema.object("Paper") {
///             Property("title", String.self)
///             Property("keywords", [String].self, description: "Single words", .maximumCount(10))
///         }
///
///         init(from content: StructuredContent) throws {
///             title = try content.member("title")
///             keywords = try content.member("keywords")
///         }
///
///         var generableContent: StructuredContent {
///             ["title": title.generableContent, "keywords": keywords.generableContent]
///         }
///     }
public protocol Generable: PromptRepresentable {
    /// The value while it is generated.
    associatedtype Partial: PartialValue = PartialObject

    /// The form of the values.
    static var schema: Schema { get }

    /// Creates a value from JSON.
    ///
    /// - Throws: `SchemaViolation`, or an error of the type.
    init(from content: StructuredContent) throws

    /// The value as JSON, in the form of `schema`.
    var generableContent: StructuredContent { get }
}

extension Generable {
    public var chunks: [ContentChunk] { [.structured(generableContent)] }

    /// Creates a value from JSON that has the form of `schema` exactly.
    ///
    /// - Throws: `LLMError.schemaViolation`.
    public init(checking content: StructuredContent) throws(LLMError) {
        let violations = Self.schema.violations(in: content)
        guard violations.isEmpty else { throw .schemaViolation(violations, content) }
        do {
            self = try Self(from: content)
        } catch {
            let violation = error as? SchemaViolation ?? SchemaViolation(path: "$", reason: "is refused: \(error)")
            throw .schemaViolation([violation], content)
        }
    }
}
