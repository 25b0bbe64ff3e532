import ChatterSwiftAI
import ChatterdSeedSamples
import Testing

/// The library does what the proposal's declarations say.
@Suite(.timeLimit(.minutes(30))) struct SeedDeclarationTests {
    @Test func modelsAreThoseOfThePrintedProtocols() async throws {
        #expect(try await runBlock6() == "Hello")
        #expect(try await runBlock9() == "Hello")
        let model: any Model = EchoLLM()
        #expect(await model.availability == .available)
    }

    @Test func firstModelIsThatOfTheDevice() async {
        let llm = modelOfBlock3()
        #expect(SystemLLM().isAvailable ? llm is SystemLLM : llm is OpenAILLM)
    }

    @Test func messagesHaveThePrintedMembers() {
        let call = ToolCall(id: "1", toolName: "WeatherTool", arguments: ["location": "Rome"])
        let messages: [any Message] = [
            SystemMessage("a"), UserMessage(["x": 1] as StructuredContent), AIMessage("c"),
            ToolOutput(id: "1", toolName: "WeatherTool", "d"), ChatterModels.Message.user("e"),
        ]
        let (roles, pieces) = runBlock12(messages)
        #expect(roles == ["system", "user", "ai", "toolOutput", "user"])
        #expect(pieces == [.text("a"), .structured(["x": 1]), .text("c"), .text("d"), .text("e")])
        #expect(toolsOfBlock12(AIMessage("", toolCalls: [call])) == ["WeatherTool"])
        #expect(ContentChunk.structured(json: "no") == .text("no"))
    }

    @Test func codableTypeNeedsItsSchemaOnly() async throws {
        #expect(try await runBlock13(EchoLLM()) == #"{"name":"Berlin"}"#)
    }

    @Test func conditionsHaveThePrintedKinds() {
        #expect(
            schemasOfBlock17() == [
                .string(constraints: [.pattern("^a")]), .string(constraints: [.constant("a")]),
                .string(constraints: [.anyOf("a", "b")]), .integer(constraints: [.minimum(1), .maximum(2)]),
                .number(constraints: [.maximum(0.5)]),
                .array(items: .boolean, constraints: [ArrayConstraint(minimum: 1)]),
            ])
    }

    /// The written-out form has an upper bound of 5 in the proposal, where its macro says 3.
    @Test func macroMakesTheWrittenForm() throws {
        guard case .object(let name, _, let members) = Block18.schema,
            case .object(let written, _, let others) = Block19.schema
        else {
            Issue.record("no objects")
            return
        }
        #expect(name == written && members.count == 3 && Array(members.prefix(2)) == Array(others.prefix(2)))
        guard case .array(let items, let count) = members[2].schema, case .array(let form, let other) = others[2].schema
        else {
            Issue.record("no arrays")
            return
        }
        #expect(
            items == form && count == [.count(lowerBound: 1, upperBound: nil), .count(lowerBound: nil, upperBound: 3)])
        #expect(other == [.count(lowerBound: 1, upperBound: 5)])
        let user = #"{"age":36,"favoriteColors":["red"],"name":"Ada_1"}"#
        #expect(try Block19.rewritten(user) == user)
        #expect(throws: LLMError.self) { try Block19.rewritten(#"{"age":17,"favoriteColors":["red"],"name":"Ada_1"}"#) }
    }

    @Test func optionsHaveThePrintedMembers() {
        let options = optionsOfBlock20(temperature: 0.5, maximumTokens: 9, samplingMode: .greedy)
        #expect(options == LLMReplyOptions(temperature: 0.5, maximumTokens: 9, samplingMode: .greedy))
        #expect(Block21.modes == [.topP(0.5), .greedy])
    }

    @Test func toolHasThePrintedRequirements() async throws {
        let tool = weatherTool()
        #expect(try await runBlock22(tool, #"{"location":"Rome"}"#) == "72°F, sunny in Rome")
        await #expect(throws: LLMError.self) { try await runBlock22(tool, "{}") }
        await #expect(throws: LLMError.self) { try await runBlock22(tool, "no") }
        #expect(tool.toolDescription.parameters == .object("Arguments") { Property("location", String.self) })
    }
}
