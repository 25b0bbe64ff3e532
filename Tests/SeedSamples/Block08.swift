// swift-format-ignore-file
import ChatterSwiftAI

// Printed:
struct WeatherTool: Tool {
  let description = "Get current weather for a location"

  @Generable
  struct Arguments {
    let location: String
  }

  func call(arguments: Arguments) async throws -> String {
    // Fetch weather data for arguments.location
    return "72°F, sunny in \(arguments.location)"
  }
}

@Generable
struct WeatherReport {
  let temperature: Int
  let conditions: String
  let location: String
}

// End.

/// Runs the sample; returns the report as JSON, and who spoke.
package func runBlock8(_ llm: any LLM) async throws -> (report: String, roles: [Role]) {
// Printed:
let report = try await llm.reply(
  to: "What's the weather like in San Francisco?",
  tools: [WeatherTool()],
  returning: WeatherReport.self
)
// LLM calls WeatherTool, then returns structured WeatherReport
// End.
    return (report.content.generableContent.json, report.history.map(\.role))
}
