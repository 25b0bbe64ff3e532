// swift-format-ignore-file
import ChatterSwiftAI

/// Runs the sample; returns the text.
package func runBlock4(_ llm: any LLM) async throws -> String {
// Printed:
// Same code works with any model
let response = try await llm.reply(to: "Write a haiku about Berlin.")
print(response.content)
// End.
    return response.content
}
