// swift-format-ignore-file
import ChatterSwiftAI

/// Runs the sample; returns the text.
package func runBlock7(_ llm: any LLM) async throws -> String {
// Printed:
let response = try await llm.reply(to: "Explain quantum computing")
print(response.content)
// Returns: "Quantum computing is a type of computation that..."
// End.
    return response.content
}
