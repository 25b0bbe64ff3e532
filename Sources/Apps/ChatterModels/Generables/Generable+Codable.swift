#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A `Codable` type is generable with its `schema` alone:
///
///     struct User: Codable, Generable {
///         let name: String
///
///         static let schema = Schema.object("User") { Property("name", String.self) }
///     }
extension Generable where Self: Codable {
    /// Decodes the JSON.
    ///
    /// - Throws: `DecodingError`.
    public init(from content: StructuredContent) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(content.json.utf8))
    }

    /// The value as JSON, with the members of each object in alphabetical order; `null` if it cannot be encoded, as infinity.
    public var generableContent: StructuredContent {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let data = try? encoder.encode(self) else { return .null }
        return (try? StructuredContent(json: Array(data))) ?? .null
    }
}
