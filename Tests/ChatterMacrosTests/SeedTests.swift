import ChatterMacros
import Testing

/// The examples of the proposal with macros, by the model that repeats its prompt.
@Suite(.timeLimit(.minutes(30))) struct SeedTests {
    @Test func paperIsExtracted() async throws {
        let text = #"{"title":"Attention","authors":"V. et al.","abstract":"…","keywords":["attention"]}"#
        let paper = try await EchoLLM().reply(to: text, returning: ResearchPaper.self).content
        #expect(paper.keywords == ["attention"] && paper.generableContent.json == text)
    }

    @Test func streamedReportGrows() async throws {
        let text = #"{"temperature":72,"conditions":"sunny","location":"San Francisco"}"#
        var last: WeatherReport.Partial?
        for try await report in EchoLLM().replyStream(to: text, returning: WeatherReport.self) {
            #expect((report.location ?? "").hasPrefix(last?.location ?? ""))
            last = report
        }
        #expect(last?.temperature == 72 && last?.location == "San Francisco")
    }

    @Test func argumentsOfAToolAreGenerated() {
        #expect(WeatherTool().toolDescription.parameters == .object("Arguments") { Property("location", String.self) })
    }
}
