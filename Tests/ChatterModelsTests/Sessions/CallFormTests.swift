import ChatterModels
import Foundation
import Testing

private struct City: Codable, Generable, Equatable {
    /// A choice among texts that is `Codable` as well.
    enum Size: String, CaseIterable, Codable, Generable { case small, large }

    let size: Size
    let name: String
    let residents: Int?

    static let schema = Schema.object("City") {
        Property("size", Size.self)
        Property("name", String.self)
        Property("residents", Int?.self, .minimum(0))
    }
}

/// The forms in which a model is asked.
@Suite(.timeLimit(.minutes(30))) struct CallFormTests {
    private let city = #"{"name":"Berlin","residents":3,"size":"large"}"#

    private func last<Value>(_ stream: some AsyncSequence<Value, any Error>) async throws -> Value? {
        var last: Value?
        for try await value in stream { last = value }
        return last
    }

    @Test func typeAndToolsHaveBothOrders() async throws {
        let (llm, tools) = (EchoLLM() as any LLM, [WeatherTool()])
        let messages: [Message] = [.system("Be brief."), .user(UserMessage(city))]
        let value = City(size: .large, name: "Berlin", residents: 3)
        #expect(try await llm.reply(to: city, tools: tools, returning: City.self).content == value)
        #expect(try await llm.reply(to: city, returning: City.self, tools: tools).content == value)
        #expect(try await llm.reply(to: messages, tools: tools, returning: City.self).content == value)
        #expect(try await llm.reply(to: messages, returning: City.self, tools: tools).content == value)
        let json = value.generableContent
        #expect(try await last(llm.replyStream(to: city, tools: tools, returning: City.self))?.content == json)
        #expect(try await last(llm.replyStream(to: messages, tools: tools, returning: City.self))?.content == json)
    }

    @Test func arrayIsOneValueOrTheMessagesThatItHas() async throws {
        #expect([1, 2].chunks == [.structured([1, 2])])
        #expect([UserMessage("a"), "b"].chunks == [.text("a"), .text("b")])
        let session = EchoLLM().makeSession()
        let messages: [Message] = [.system("Be brief."), .user("one"), .ai("one"), .user("two")]
        #expect(try await session.reply(to: messages).history.count == 5)
        #expect(try await EchoLLM().reply(to: messages, in: session).content == "two")
        #expect(await session.messages.count == 10)
    }

    @Test func messagesAreStreamed() async throws {
        let stream = EchoLLM().replyStream(to: [.ai("Hello"), .user("one two")])
        #expect(try await last(stream) == "one two")
    }

    @Test func eachFormTakesPieces() async throws {
        let llm: any LLM = EchoLLM()
        let session = llm.makeSession()
        #expect(try await last(llm.replyStream { "one" }) == "one")
        #expect(try await session.reply { "two" }.content == "two")
        let stream = session.replyStream {
            "three"
            UserMessage("four")
        }
        #expect(try await last(stream) == "three\nfour")
        #expect(await session.messages.map(\.text) == ["two", "two", "three\nfour", "three\nfour"])
    }

    @Test func promptIsMadeOfAText() {
        let text = "He" + "llo"
        #expect(Prompt(text).chunks == [.text("Hello")])
        #expect(Prompt { ImageContent(data: Data([1, 2, 3])) }.chunks == [.image(ImageContent(base64: "AQID"))])
    }

    @Test func messagesArePiecesWithARole() {
        let call = ToolCall(id: "1", toolName: "WeatherTool", arguments: [:])
        let output = ToolOutput(id: "1", toolName: "WeatherTool", "Sun")
        #expect([SystemMessage("a").role, UserMessage("b").role] == [.system, .user])
        #expect([AIMessage("c", toolCalls: [call]).role, output.role] == [.ai, .toolOutput])
        #expect(Prompt { SystemMessage("a") }.chunks == [.text("a")])
        #expect(UserMessage(output).chunks == [.text("Sun")])
    }

    @Test func codableTypeNeedsItsSchemaOnly() throws {
        let value = try City(checking: StructuredContent(json: city))
        #expect(value == City(size: .large, name: "Berlin", residents: 3) && value.generableContent.json == city)
        #expect(throws: LLMError.self) { try City(checking: ["size": "large", "name": "Berlin", "residents": -1]) }
        #expect(throws: SchemaViolation.self) { try City.Size(from: "huge") }
        #expect(City.Size.small.generableContent == "small")
        // JSON has no infinity.
        struct Price: Codable, Generable {
            let price: Double

            static let schema = Schema.object("Price") { Property("price", Double.self) }
        }
        #expect(Price(price: .infinity).generableContent == .null)
    }

    @Test func toolIsCalledByItself() async throws {
        let tool: any Tool = WeatherTool()
        let call = ToolCall(id: "1", toolName: "WeatherTool", arguments: ["location": "Rome"])
        let output = try await tool.output(for: call)
        #expect(output == ToolOutput(id: "1", toolName: "WeatherTool", "72°F, sunny in Rome"))
        #expect("\(call)" == #"WeatherTool({"location":"Rome"})"#)
        #expect(try await tool.call(Data(#"{"location":"Oslo"}"#.utf8)).chunks == [.text("72°F, sunny in Oslo")])
        let wrong = ToolCall(id: "2", toolName: "WeatherTool", arguments: ["place": "Rome"])
        await #expect(throws: LLMError.self) { try await tool.output(for: wrong) }
        await #expect(throws: LLMError.self) { try await tool.call(Data("no".utf8)) }
        #expect(WeatherTool.parameters == WeatherTool.Arguments.schema)
    }

    @Test func replyIsMadeByHand() {
        let reply = LLMReply(content: "Hello", history: [.user("Hi")])
        #expect(reply.content == "Hello" && reply.reason == .stop && reply.history.count == 1)
        #expect("\(reply.reason), \(GenerationEnd.Reason.contentFilter)" == "stop, contentFilter")
    }

    @Test func keyThatCannotBeSentIsAnErrorOfTheFirstRequest() async {
        let llm = OpenAILLM(apiKey: "a\nb", model: "gpt-4.1")
        #expect(await llm.isAvailable == false)
        await #expect(throws: LLMError.rejected("The key has characters that no key has.")) {
            try await llm.reply(to: "Hi")
        }
        #expect(await OpenAILLM(apiKey: "", model: "gpt-4.1").availability == .unavailable(.apiKeyMissing))
    }
}
