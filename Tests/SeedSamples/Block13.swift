// swift-format-ignore-file
import ChatterSwiftAI

enum Block13 {
// Printed:
protocol Generable: PromptRepresentable, Codable, Sendable {
  static var schema: Schema { get }
}
// End.
}

/// A type that only has what the printed protocol requires, beside its schema.
struct City: Codable, Equatable, Generable {
    let name: String

    static let schema = Schema.object("City") {
        Property("name", String.self)
    }
}

extension City: Block13.Generable {}

/// Reads a city and writes it again.
package func runBlock13(_ llm: any LLM) async throws -> String {
    func form(_ type: (some Block13.Generable).Type) -> Schema { type.schema }
    let reply = try await llm.reply(to: #"{"name":"Berlin"}"#, returning: City.self)
    return form(City.self) == City.schema ? reply.content.generableContent.json : ""
}
