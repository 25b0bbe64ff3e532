// swift-format-ignore-file
import ChatterSwiftAI

// Printed:
@Generable
struct ResearchPaper {
  let title: String
  let authors: String
  let abstract: String
  @Guide(description: "Important topics in the paper as single words", .minimumCount(1), .maximumCount(10))
  let keywords: [String]
}

// End.

/// Runs the sample; returns the paper as JSON.
package func runBlock5(_ llm: any LLM) async throws -> String {
// Printed:
// Same code works with any model
let response = try await llm.reply(
  to: "Extract relevant information from this paper ...",
  returning: ResearchPaper.self // Tell the LLM what to output
)

let paper = response.content // content is a ResearchPaper
// End.
    return paper.generableContent.json
}
