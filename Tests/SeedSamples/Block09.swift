// swift-format-ignore-file
import ChatterSwiftAI

enum Block9 {
// Printed:
protocol LLM: Model {
  associatedtype ConversationThread: AnyObject & Sendable = NullConversationThread

  func makeConversationThread(
    tools: [any Tool],
    messages: [any Message] // Useful for resuming existing conversations
                            // or passing system instructions.
  ) throws -> ConversationThread

  func reply<T: Generable>(
    to prompt: any PromptRepresentable,
    returning type: T.Type,
    in thread: ConversationThread,
    options: LLMReplyOptions
  ) async throws -> LLMReply<T>
}
// End.
}

// Each model of the library has what the printed protocol requires.
extension EchoLLM: Block9.LLM {}

/// Asks a model of which only the printed protocol is known, in a thread.
package func runBlock9() async throws -> String {
    func ask(_ llm: some Block9.LLM) async throws -> String {
        let thread = try llm.makeConversationThread(tools: [], messages: [SystemMessage("Be polite."), UserMessage("Hi")])
        return try await llm.reply(to: "Hello", returning: String.self, in: thread, options: .default).content
    }
    return try await ask(EchoLLM())
}
