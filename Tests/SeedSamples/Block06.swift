// swift-format-ignore-file
import ChatterSwiftAI

enum Block6 {
// Printed:
protocol LLM: Model {
  func reply<T: Generable>(
    to prompt: any PromptRepresentable,
    tools: [any Tool],
    returning type: T.Type,
    options: LLMReplyOptions
  ) async throws -> LLMReply<T>

  // Other overloads include passing a
  // sequence of messages not just a single prompt.
}
// End.
}

// Each model of the library has what the printed protocol requires.
extension EchoLLM: Block6.LLM {}

/// Asks a model of which only the printed protocol is known.
package func runBlock6() async throws -> String {
    let llm: any Block6.LLM = EchoLLM()
    return try await llm.reply(to: "Hello", tools: [], returning: String.self, options: .default).content
}
