import ChatterFoundationModels
import ChatterModels
import Testing

/// The mapping between FoundationModels and the models of this library, without FoundationModels.
struct MappingTests {
    @Test func transcriptBecomesMessages() throws {
        let call = ToolCall(id: "c", toolName: "f", arguments: ["a": 1])
        let request = try GenerationRequest(
            ProviderRequest(entries: [
                .instructions("Be polite."), .prompt("Weather?"), .reasoning("hm"), .toolCalls([call]),
                .toolOutput(id: "c", toolName: "f", text: "Sun"), .reasoning("so"),
                .response(id: "chatterd:a/r1", text: "Sunny."), .prompt("Sure?"),
            ]))
        #expect(
            request.transcript == [
                .system("Be polite."), .user("Weather?"), .ai(AIMessage("", toolCalls: [call], reasoning: "hm")),
                .toolOutput(ToolOutput(id: "c", toolName: "f", "Sun")),
                .ai(AIMessage("Sunny.", reasoning: "so", id: "chatterd:a/r1")), .user("Sure?"),
            ])
    }

    @Test func toolsSchemaAndOptionsAreKept() throws {
        let form = Schema.object("City") {
            Property("name", String.self, description: "In English", .pattern("^[A-Z]"))
        }
        let options = LLMReplyOptions(temperature: 0.5, maximumTokens: 9)
        let request = try GenerationRequest(
            ProviderRequest(
                entries: [.prompt("Hi")],
                tools: [ProviderRequest.Tool(name: "f", description: "d", parameters: form.jsonSchema().json)],
                schema: form.jsonSchema(.strict).json, options: options))
        #expect(request.tools == [ToolDescription(name: "f", description: "d", parameters: form)])
        #expect(request.schema == form && request.options == options)
    }

    @Test(arguments: ["{}", "no", #"{"$ref":"a"}"#]) func formThatCannotBeReadIsRejected(_ schema: String) {
        let error = #expect(throws: LLMError.self) {
            try GenerationRequest(ProviderRequest(entries: [], schema: schema))
        }
        guard case .rejected? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func messageBecomesEvents() throws {
        var course = ProviderCourse(entry: "e")
        let call = ToolCall(id: "c", toolName: "f", arguments: ["a": 1])
        let end = GenerationEnd(reason: .toolCalls, usage: Usage(promptTokens: 3, answerTokens: 5))
        var events: [ProviderEvent] = []
        for event: GenerationEvent in [
            .reset, .identified("chatterd:a/r1"), .reasoning("hm"), .text("Wait"), .toolCall(call), .finished(end),
        ] {
            events += try course.events(after: event)
        }
        #expect(
            events == [
                .appendReasoning("hm", entry: "chatterd:a/r1/reasoning"), .appendText("Wait", entry: "chatterd:a/r1"),
                .toolCall(id: "c", name: "f", arguments: #"{"a":1}"#, entry: "chatterd:a/r1/calls"),
                .usage(promptTokens: 3, answerTokens: 5, entry: "chatterd:a/r1/calls"),
            ])
    }

    @Test func restartAfterContentIsAnError() throws {
        var course = ProviderCourse(entry: "e")
        #expect(try course.events(after: .text("A")) == [.appendText("A", entry: "e")])
        #expect(throws: LLMError.self) { try course.events(after: .reset) }
    }

    @Test(arguments: [GenerationEnd.Reason.length, .contentFilter, .stopped])
    func endThatIsNotCompleteIsAnError(_ reason: GenerationEnd.Reason) {
        var course = ProviderCourse(entry: "e")
        #expect(throws: LLMError.self) { try course.events(after: .finished(GenerationEnd(reason: reason))) }
    }

    @Test func errorsHaveTheirCounterparts() {
        #expect(ProviderError(.contextTooLong("a")) == .contextSizeExceeded("a"))
        #expect(ProviderError(.rateLimited("a", retryAfter: .seconds(2))) == .rateLimited("a", retryAfter: .seconds(2)))
        #expect(ProviderError(.refused("a")) == .refusal("a") && ProviderError(.cancelled) == .cancelled)
        #expect(ProviderError(.failed("a")) == .other(.failed("a")))
        guard case .guardrailViolation = ProviderError(.incomplete(.contentFilter)) else {
            Issue.record("no guardrail")
            return
        }
    }
}
