// swift-format-ignore-file
import ChatterSwiftAI
import Foundation

enum Block22 {
// Printed:
protocol Tool: Sendable {
  associatedtype Arguments: Generable
  var description: String { get }
  var name: String { get }
  static var parameters: Schema { get }
  func call(arguments: Arguments) async throws -> any PromptRepresentable
  func call(_ data: Data) async throws -> any PromptRepresentable
}
// End.
}

/// The printed protocol over any tool of the library. (The tool of block 8 returns a `String`, which this protocol does not permit.)
struct PrintedTool<Original: Tool>: Block22.Tool {
    let original: Original

    var description: String { original.description }
    var name: String { original.name }
    static var parameters: Schema { Original.parameters }

    func call(arguments: Original.Arguments) async throws -> any PromptRepresentable {
        try await original.call(arguments: arguments)
    }

    func call(_ data: Data) async throws -> any PromptRepresentable { try await original.call(data) }
}

/// Calls a tool by the printed protocol, with JSON.
package func runBlock22(_ tool: some Tool, _ json: String) async throws -> String {
    func call(_ tool: some Block22.Tool) async throws -> String {
        try await tool.call(Data(json.utf8)).chunks.map(\.text).joined()
    }
    return try await call(PrintedTool(original: tool))
}

/// The tool of block 8.
package func weatherTool() -> some Tool { WeatherTool() }
