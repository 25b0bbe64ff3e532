import ChatterClient
import ChatterModels
import ChatterSwiftAI
import ChatterdSeedSamples
import ChatterdTestSupport
import Testing

/// The proposal's samples as printed, with a scripted model server, directly and through chatterd.
@Suite(.timeLimit(.minutes(30))) struct SeedSampleTests {
    /// How the model is reached.
    enum Way: CaseIterable {
        case direct, chatterd
    }

    /// Runs a test with a model that gives these answers. The model of the device is asked first; its absence is not noticed.
    private func with(_ way: Way, _ answers: [UpstreamStep]..., body: (any LLM) async throws -> Void) async throws {
        let upstream = try ScriptedUpstream(
            probing: { _ in .plain(200, #"{"models":[{"name":"tiny:latest","model":"tiny:latest"}]}"#) },
            { answers[min($0.number, answers.count - 1)] })
        switch way {
        case .direct:
            try await body(FallbackLLM([SystemLLM(), try OllamaLLM(model: "tiny", url: upstream.url)]))
        case .chatterd:
            let upstreams = #"[{"name":"tiny","kind":"ollama","url":"\#(upstream.url)","models":["tiny"]}]"#
            let server = try await blocking { try LibraryServer(["CHATTERD_UPSTREAMS": upstreams]) }
            try await body(FallbackLLM(SystemLLM(), ChatterdLLM(client: try server.client(), model: "tiny")))
        }
    }

    @Test(arguments: Way.allCases) func haikuIsWritten(_ way: Way) async throws {
        try await with(way, .answer(["Grey river", " at dusk"])) { llm in
            let texts = [try await runBlock4(llm), try await runBlock7(llm)]
            #expect(texts == ["Grey river at dusk", "Grey river at dusk"])
        }
    }

    @Test(arguments: Way.allCases) func paperIsExtracted(_ way: Way) async throws {
        let paper = #"{"title":"Attention","authors":"V. et al.","abstract":"Heads attend.","keywords":["heads"]}"#
        try await with(way, .answer([paper])) { llm in
            let text = try await runBlock5(llm)
            #expect(text == paper)
        }
    }

    @Test(arguments: Way.allCases) func reportIsMadeWithATool(_ way: Way) async throws {
        let call = ModelLine.toolCalls([("WeatherTool", #"{"location":"San Francisco"}"#)])
        let report = #"{"temperature":72,"conditions":"sunny","location":"San Francisco"}"#
        try await with(way, .lines(call), .answer(["It is sunny."]), .answer([report])) { llm in
            let (text, roles) = try await runBlock8(llm)
            #expect(text == report && Array(roles.prefix(3)) == [.user, .ai, .toolOutput])
        }
    }

    @Test(arguments: Way.allCases) func nameIsRemembered(_ way: Way) async throws {
        try await with(way, .answer(["Hello Alice!"]), .answer(["Your name is Alice."])) { llm in
            let texts = try await runBlock10(llm)
            #expect(texts == ["Hello Alice!", "Your name is Alice."])
        }
    }
}
