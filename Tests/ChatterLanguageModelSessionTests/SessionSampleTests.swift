import ChatterLanguageModelSession
import ChatterdAppleSamples
import ChatterdBasics
import ChatterdTestSupport
import Foundation
import Testing

/// The samples of FoundationModels, run with a scripted model.
@Suite(.timeLimit(.minutes(30))) struct SessionSampleTests {
    private struct Cellar: Tool {
        let name = "cellar"
        let description = "Counts bottles."

        func call(arguments: WeatherTool.Arguments) async throws -> String { throw EmptyCellar() }
    }

    private struct Lamp: Tool {
        static let parameters = Schema.object("Lamp") { Property("city", String.self, .anyOf(["Rome"])) }
        let name = "lamp"
        let description = "Lights a city."

        func call(arguments: WeatherTool.Arguments) async throws -> String { "on" }
    }

    private static let tour = #"{"title":"Rome","days":[{"place":"Forum","activity":"sightseeing"}]}"#

    @Test func textGrowsAndIsCollected() async throws {
        let session = LanguageModelSession(model: ScriptedModel(.text("Once", " upon")))
        let seen = Lock<[String]>([])
        #expect(try await sample13(session: session) { text in seen.withLock { $0.append(text) } } == "Once upon")
        #expect(seen.withLock { $0 } == ["Once", "Once upon"])
        #expect(sample32(session: session) == ["prompt: Tell a long story.", "Once upon"])
        #expect(!session.isResponding)
    }

    @Test func sessionRespondsUntilItsStreamIsLeft() async throws {
        let session = LanguageModelSession(model: ScriptedModel(.text("Once", " upon")))
        func readOne() async throws {
            for try await partial in session.streamResponse(to: "Tell.") {
                #expect(partial.content == "Once")
                #expect(session.isResponding)
                #expect(session.transcript.count == 1)
                break
            }
        }
        try await readOne()
        #expect(!session.isResponding)
        #expect(try await session.respond(to: "Again.").transcriptEntries.count == 2)
        #expect(session.transcript.count == 2)
    }

    @Test func readersOfOneStreamGetItsReply() async throws {
        let session = LanguageModelSession(model: YieldingModel())
        let stream = session.streamResponse(to: "Tell.")
        let contents = try await withThrowingTaskGroup(of: String.self) { readers in
            for _ in 0..<8 {
                readers.addTask { try await stream.collect().content }
            }
            return try await readers.reduce(into: []) { $0.append($1) }
        }
        #expect(contents == Array(repeating: "Once upon", count: 8))
        #expect(!session.isResponding && session.transcript.count == 2)
    }

    @Test func errorOfAStreamReachesEachOfItsReaders() async {
        let session = LanguageModelSession(model: ScriptedModel(.failure(.failed("Broken."))))
        let stream = session.streamResponse(to: "Tell.")
        for _ in 0..<2 {
            await #expect(throws: LLMError.failed("Broken.")) { try await stream.collect() }
            await #expect(throws: LLMError.failed("Broken.")) { for try await _ in stream {} }
        }
        #expect(!session.isResponding)
    }

    @Test func valueGrowsWithItsJSON() async throws {
        let llm = ScriptedModel(
            .text(#"{"title":"Ro"#, #"me","days":[{"pla"#, #"ce":"Forum","activity":"sightseeing"}]}"#))
        let session = LanguageModelSession(model: llm)
        let seen = Lock<[String]>([])
        try await sample23(session: session) { text in seen.withLock { $0.append(text) } }
        #expect(seen.withLock { $0 }.first == "Ro")
        #expect(seen.withLock { $0 }.last == "Forum")
        let (tour, json) = try await sample24(session: session)
        #expect(tour.generatedContent.jsonString == Self.tour)
        #expect(json == Self.tour)
        #expect(llm.requests.first?.schema == Tour.schema)
    }

    @Test func numbersOfAllTypesAreRead() async throws {
        let json = #"{"discount":5,"weight":1.5,"probability":0.25,"price":1.1,"dice":[1,6,3]}"#
        let session = LanguageModelSession(model: ScriptedModel(.text(json)))
        #expect(try await sample19(session: session) == Decimal(string: "3.3"))
    }

    @Test func regularExpressionIsAPattern() async throws {
        let wrong = #"{"seat":"first","kind":"return","code":"ab1"}"#
        let right = #"{"seat":"first","kind":"return","code":"ABC12"}"#
        let session = LanguageModelSession(model: ScriptedModel(.text(wrong), .text(right)))
        let error = await #expect(throws: LanguageModelSession.GenerationError.self) {
            try await sample18(session: session)
        }
        guard case .decodingFailure? = error else { return #expect(Bool(false), "\(String(describing: error))") }
        #expect(try await sample18(session: session) == "ABC12")
    }

    @Test func toolIsCalledAndShown() async throws {
        let llm = ScriptedModel(.call("getWeather", ["city": "Rome"]), .text("Clear."))
        let session = sample28(model: SystemLanguageModel(llm))
        #expect(try await session.respond(to: "How is it in Rome?").content == "Clear.")
        #expect(
            sample32(session: session) == [
                "instructions: 1", "prompt: How is it in Rome?", #"calls: getWeather {"city":"Rome"}"#,
                "output of getWeather", "Clear.",
            ])
        let output = try #require(llm.requests.last?.transcript.last)
        #expect(output.text == #"{"temperature":21,"sky":"clear over Rome","wind":[3.5,4.0]}"#)
    }

    @Test func formOfAToolIsItsOwn() async throws {
        let llm = ScriptedModel(.text("Yes."))
        try await LanguageModelSession(model: llm, tools: [Lamp()]).respond(to: "Is it lit?")
        #expect(llm.requests.first?.tools.map(\.parameters) == [Lamp.parameters])
        #expect(Lamp.parameters != WeatherTool.Arguments.schema)
    }

    @Test func errorOfAToolIsItself() async {
        let llm = ScriptedModel(.call("cellar", ["city": "Rome"]))
        let session = LanguageModelSession(model: llm, tools: [Cellar()])
        #expect(await sample29(session: session) == "cellar is empty")
        #expect(session.transcript.isEmpty)
    }

    @Test func errorsHaveTheNamesOfFoundationModels() async throws {
        let session = LanguageModelSession(
            model: ScriptedModel(
                .failure(.refused("I do not do this.")), .text("Par", reason: .stop),
                .failure(.contextTooLong("too long")), .failure(.connectionLost("lost"))))
        #expect(try await sample31(session: session, prompt: "x") == "I do not do this.")
        #expect(try await session.respond(to: "y").content == "Par")
        let short = try await sample30(session: session, prompt: "z")
        #expect(short !== session && short.transcript.count == 2)
        await #expect(throws: LLMError.connectionLost("lost")) { try await session.respond(to: "z") }
    }

    @Test func transcriptIsRestored() async throws {
        let session = LanguageModelSession(model: ScriptedModel(.text("Yes.")), instructions: "Be short.")
        try await session.respond(to: "Is it so?")
        #expect(try sample33(session: session).transcript == session.transcript)
        #expect(Transcript(entries: session.transcript).messages == session.transcript.messages)
    }

    @Test func formOfRunTimeIsChecked() async throws {
        let llm = ScriptedModel(.text(#"{"dailySoup":"leek"}"#), .text(#"{"dailySoup":"tyre"}"#))
        let session = LanguageModelSession(model: llm)
        let (soup, price) = try await sample34(session: session, soups: ["leek", "pea"])
        #expect(soup == "leek" && price == nil)
        await #expect(throws: LanguageModelSession.GenerationError.self) {
            try await sample34(session: session, soups: ["leek", "pea"])
        }
        #expect(llm.requests.first?.schema?.jsonSchema().json.contains(#""enum":["leek","pea"]"#) == true)
    }

    @Test func formThatContainsItselfIsRefused() {
        let node = DynamicGenerationSchema(
            name: "Node", properties: [.init(name: "next", schema: .init(referenceTo: "Node"))])
        #expect(throws: GenerationSchema.SchemaError.recursive("Node")) {
            try GenerationSchema(root: node, dependencies: [])
        }
        #expect(throws: GenerationSchema.SchemaError.duplicateType("Node")) {
            try GenerationSchema(root: node, dependencies: [node])
        }
        #expect(throws: GenerationSchema.SchemaError.undefinedReference("x")) {
            try GenerationSchema(root: .init(arrayOf: .init(referenceTo: "x")), dependencies: [])
        }
    }

    @Test func optionsReachTheModel() async throws {
        let llm = ScriptedModel(.text("red"))
        #expect(try await sample8(session: LanguageModelSession(model: llm)) == ["red", "red", "red"])
        let options = llm.requests.map(\.options)
        #expect(options.map(\.samplingMode) == [.greedy, nil, .topP(0.9)])
        #expect(options.map(\.topK) == [nil, 40, nil] && options.map(\.seed) == [nil, 7, nil])
        let seeded = GenerationOptions(sampling: .random(probabilityThreshold: 0.5, seed: .max))
        try await LanguageModelSession(model: llm).respond(to: "x", options: seeded)
        #expect(llm.requests.last?.options.seed == .max)
    }

    @Test func topAndSeedReachTheServer() async throws {
        let answer = #"{"message":{"content":"red"},"done":true,"done_reason":"stop"}"# + "\n"
        let server = try ScriptedUpstream([
            .head(200, [("Content-Type", "application/x-ndjson"), ("Transfer-Encoding", "chunked")]), .chunk(answer),
            .endChunks,
        ])
        let session = LanguageModelSession(model: try OllamaLLM(model: "m", url: server.url))
        let options = GenerationOptions(sampling: .random(top: 40, seed: 7))
        #expect(try await session.respond(to: "Name a colour.", options: options).content == "red")
        let body = String(decoding: try #require(server.requests.first).body, as: UTF8.self)
        #expect(body.hasSuffix(#""options":{"top_k":40,"seed":7}}"#), "\(body)")
    }

    @Test func modelOfTheAppAnswersSessionsWithoutOne() async throws {
        sample1 { #expect($0 == "not on this device") }
        let error = await #expect(throws: LanguageModelSession.GenerationError.self) { try await sample2() }
        guard case .assetsUnavailable? = error else { return #expect(Bool(false), "\(String(describing: error))") }
        SystemLanguageModel.use(ScriptedModel(.text("Ebro")))
        sample1 { #expect($0 == "ready") }
        #expect(try await sample2() == "Ebro")
    }
}
