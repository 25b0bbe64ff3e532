// swift-format-ignore-file
import ChatterSwiftAI

/// Runs the sample; returns both texts.
package func runBlock10(_ llm: any LLM) async throws -> [String] {
// Printed:
let thread = llm.makeConversationThread() {
    // System instructions (aka SystemMessage).
    "You are a helpful assistant. Always be polite."
}

let greeting = try await llm.reply(
  to: "Hello, my name is Alice",
  in: thread
)

// Conversation thread maintains context from previous exchanges
let followUp = try await llm.reply(
  to: "What's my name?",
  in: thread
)
// End.
    return [greeting.content, followUp.content]
}
