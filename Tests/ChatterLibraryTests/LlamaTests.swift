import ChatterClient
import ChatterFoundationModels
import ChatterMacros
import ChatterdSeedSamples
import ChatterdTestSupport
import Foundation
import Testing

/// The address and the model of a llama.cpp server with known answers (Tests/System/models/scripts.py).
private enum Llama {
    static let url = ProcessInfo.processInfo.environment["CHATTERD_TEST_LLAMA"]
    static let model = ProcessInfo.processInfo.environment["CHATTERD_TEST_LLAMA_MODEL"] ?? "scripted"
}

/// The proposal's examples with a real model server, run by `script/test models`.
@Suite(.timeLimit(.minutes(30)), .serialized, .enabled(if: Llama.url != nil, "CHATTERD_TEST_LLAMA names no server"))
struct LlamaTests {
    /// How the model is reached.
    enum Way: CaseIterable {
        case direct, chatterd
    }

    private struct ToolFailure: Error, CustomStringConvertible {
        let description = "the station is closed"
    }

    /// The tool that the model calls.
    fileprivate struct WeatherTool: Tool {
        let name = "get_weather"
        let description = "The weather of a city."
        let body: @Sendable (String) async throws -> String

        @Generable
        struct Arguments {
            let city: String
            let unit: String?
        }

        func call(arguments: Arguments) async throws -> String { try await body(arguments.city) }
    }

    /// Runs a test with the model; the server of chatterd ends after it.
    private func with(_ way: Way, _ body: (any LLM) async throws -> Void) async throws {
        let url = try #require(Llama.url)
        switch way {
        case .direct: try await body(OpenAILLM(model: Llama.model, url: url))
        case .chatterd:
            let upstreams = #"[{"name":"llama","kind":"openai","url":"\#(url)","models":["\#(Llama.model)"]}]"#
            let server = try await blocking { try LibraryServer(["CHATTERD_UPSTREAMS": upstreams]) }
            try await body(ChatterdLLM(client: server.client(), model: Llama.model))
        }
    }

    @Test(arguments: Way.allCases) func haikuIsWritten(_ way: Way) async throws {
        try await with(way) { llm in
            let chain = FallbackLLM(try OpenAILLM(model: "absent", url: "http://127.0.0.1:9"), llm)
            let reply = try await chain.reply(to: "Write a haiku about Berlin.")
            #expect(reply.content.hasPrefix("Grey river at dusk,\n") && reply.reason == .stop)
            #expect((reply.usage?.answerTokens ?? 0) > 0)
        }
    }

    @Test(arguments: Way.allCases) func samplesOfTheProposalRunAsPrinted(_ way: Way) async throws {
        try await with(way) { model in
            let llm = FallbackLLM(SystemLLM(), model)
            let haiku = try await runBlock4(llm)
            #expect(haiku.hasPrefix("Grey river at dusk,\n"))
            let paper = try StructuredContent(json: try await runBlock5(llm))
            #expect(paper["title"] == "Attention")
            let (text, roles) = try await runBlock8(llm)
            let report = try StructuredContent(json: text)
            #expect(report["temperature"] == -3 && roles.prefix(3) == [.user, .ai, .toolOutput])
            let thread = try await runBlock10(llm)
            #expect(thread[0].hasPrefix("Hello!") && thread[1] == "Your name is Alice.")
        }
    }

    @Test(arguments: Way.allCases) func typedAnswersHaveTheirForm(_ way: Way) async throws {
        try await with(way) { llm in
            let paper = try await llm.reply(to: "Extract the paper", returning: ResearchPaper.self).content
            #expect(paper.title == "Attention" && paper.keywords == ["heads", "attention"])
            let user = try await llm.reply(to: "Make a user", returning: User.self).content
            #expect(user.name == "Ada_1" && user.age == 36 && user.favoriteColors == [.red, .blue])
        }
    }

    @Test(arguments: Way.allCases) func streamedValueGrows(_ way: Way) async throws {
        try await with(way) { llm in
            var last: ResearchPaper.Partial?
            for try await paper in llm.replyStream(to: "Extract the paper", returning: ResearchPaper.self) {
                #expect((paper.abstract ?? "").hasPrefix(last?.abstract ?? ""))
                #expect((paper.keywords ?? []).count >= (last?.keywords ?? []).count)
                last = paper
            }
            #expect(last?.abstract == "Heads attend." && last?.keywords == ["heads", "attention"])
        }
    }

    @Test(arguments: Way.allCases) func toolsAreCalled(_ way: Way) async throws {
        try await with(way) { llm in
            let tool = WeatherTool { "cold in \($0)" }
            let session = llm.makeSession(tools: [tool]) { "Be polite." }
            let reply = try await session.reply(to: "How is the weather?")
            #expect(reply.content == "The tool says that it is cold in Oslo.")
            #expect(reply.history.map(\.role) == [.system, .user, .ai, .toolOutput, .ai])
            let report = try await session.reply(to: "How is the weather?", returning: WeatherReport.self).content
            #expect(report.temperature == -3 && report.location == "Oslo")
        }
    }

    /// The calls of one message wait for each other, and one of them fails.
    @Test(arguments: Way.allCases) func slowAndFailingToolsRunAtTheSameTime(_ way: Way) async throws {
        try await with(way) { llm in
            let (bergen, bodø) = (Gate(), Gate())
            let tool = WeatherTool { city in
                let (mine, other) = city == "Bergen" ? (bergen, bodø) : (bodø, bergen)
                mine.open()
                _ = try await blocking { other.wait() }
                if city == "Bergen" { throw ToolFailure() }
                return "cold"
            }
            let reply = try await llm.reply(to: "both", tools: [tool])
            let outputs = reply.history.compactMap { if case .toolOutput(let output) = $0 { output } else { nil } }
            #expect(outputs.map(\.text) == ["Error: the station is closed", "cold"])
            #expect(outputs.map(\.isError) == [true, false])
            #expect(reply.content == "The tool says that it is cold in Oslo.")
        }
    }
}

@Generable
private struct ResearchPaper {
    let title: String
    let authors: String
    let abstract: String
    @Guide(description: "Important topics in the paper as single words", .minimumCount(1), .maximumCount(10))
    let keywords: [String]
}

@Generable
private struct User {
    @Guide(description: "Username", .pattern("^[a-zA-Z][a-zA-Z0-9_]{2,}$"))
    let name: String
    @Guide(description: "User age", .minimum(18))
    let age: Int?
    @Guide(description: "User's favorite colors", .minimumCount(1), .maximumCount(3))
    let favoriteColors: [Color]
}

@Generable
private enum Color { case red, green, blue }

@Generable
private struct WeatherReport {
    let temperature: Int
    let conditions: String
    let location: String
}
