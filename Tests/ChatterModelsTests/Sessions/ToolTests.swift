import ChatterModels
import ChatterdTestSupport
import Foundation
import Testing

/// A tool of a closure.
private struct ClosureTool: Tool {
    let name: String
    let description = "A tool"
    let body: @Sendable (String) async throws -> String

    func call(arguments: WeatherTool.Arguments) async throws -> String { try await body(arguments.location) }
}

private struct Broken: Error, CustomStringConvertible {
    let description = "the station is closed"
}

@Suite(.timeLimit(.minutes(30))) struct ToolTests {
    private func call(
        _ name: String, _ arguments: StructuredContent = ["location": "Rome"], id: String = "1"
    ) -> ToolCall {
        ToolCall(id: id, toolName: name, arguments: arguments)
    }

    @Test func outputOfAToolGoesToTheModel() async throws {
        let llm = ScriptedLLM(.calls(call("WeatherTool")), .text("It is sunny."))
        let reply = try await llm.reply(to: "How is the weather?", tools: [WeatherTool()])
        #expect(reply.content == "It is sunny.")
        #expect(reply.history.map(\.role) == [.user, .ai, .toolOutput, .ai])
        #expect(llm.requests.last?.transcript.last?.text == "72°F, sunny in Rome")
        #expect(
            llm.requests.first?.tools.map(\.name) == ["WeatherTool"]
                && llm.requests.first?.tools.first?.description == "Get current weather for a location")
    }

    @Test func streamHasTextValuesAndTools() async throws {
        let llm = ScriptedLLM(
            [
                .reasoning("hm"), .text("Wait. "), .toolCall(call("WeatherTool")),
                .finished(GenerationEnd(reason: .toolCalls)),
            ],
            .text("Sunny.", by: 6))
        var seen: [String] = []
        for try await event in llm.makeSession(tools: [WeatherTool()]).events(replyingTo: "Weather?") {
            switch event {
            case .textDelta(let text): seen.append("text \(text)")
            case .reasoningDelta(let text): seen.append("reasoning \(text)")
            case .snapshot(let text): seen.append("snapshot \(text)")
            case .toolCall(let call): seen.append("call \(call.toolName)")
            case .toolOutput(let output): seen.append("output \(output.text)")
            case .reset: seen.append("reset")
            case .waiting: seen.append("waiting")
            case .finished(let reply): seen.append("finished \(reply.content)")
            }
        }
        #expect(
            seen == [
                "reasoning hm", "text Wait. ", "snapshot Wait. ", "call WeatherTool", "output 72°F, sunny in Rome",
                "text Sunny.", "snapshot Sunny.", "finished Sunny.",
            ])
    }

    /// Each tool waits for the other one, so that they end only if both run.
    @Test func callsOfOneMessageRunAtTheSameTime() async throws {
        let (first, second) = (Gate(), Gate())
        let tools = [
            ClosureTool(name: "one") { _ in
                first.open()
                _ = try await blocking { second.wait() }
                return "1"
            },
            ClosureTool(name: "two") { _ in
                second.open()
                _ = try await blocking { first.wait() }
                return "2"
            },
        ]
        let llm = ScriptedLLM(.calls(call("one", id: "a"), call("two", id: "b")), .text("Done"))
        let reply = try await llm.reply(to: "Go", tools: tools)
        #expect(reply.history.map(\.text) == ["Go", "", "1", "2", "Done"])
    }

    @Test func failureOfAToolIsReportedToTheModel() async throws {
        let tool = ClosureTool(name: "f") { _ in throw Broken() }
        let llm = ScriptedLLM(
            .calls(call("f"), call("g"), call("f", ["place": "Rome"]), call("f", "not JSON")), .text("Sorry"))
        let reply = try await llm.reply(to: "Go", tools: [tool])
        let outputs = reply.history.compactMap { if case .toolOutput(let output) = $0 { output } else { nil } }
        #expect(outputs.map(\.isError) == [true, true, true, true])
        #expect(outputs[0].text == "Error: the station is closed")
        #expect(outputs[1].text == "Error: There is no tool of this name. The tools are: f.")
        #expect(outputs[2].text.contains("$.location is missing"))
        #expect(outputs[3].text.contains("is of type string, not object"))
    }

    @Test func sentenceOfAToolsErrorIsUsed() async throws {
        struct Closed: LocalizedError {
            var errorDescription: String? { "The office is closed." }
        }
        struct OfficeTool: Tool {
            let description = "Asks the office"

            func call(arguments: WeatherTool.Arguments) async throws -> String { throw Closed() }
        }
        let call = ToolCall(id: "1", toolName: "OfficeTool", arguments: ["location": "Rome"])
        let llm = ScriptedLLM(.calls(call), .text("Sorry."))
        _ = try await llm.reply(to: "Open?", tools: [OfficeTool()])
        #expect(llm.requests.last?.transcript.last?.text == "Error: The office is closed.")
        let failing = ScriptedLLM(.calls(call))
        await #expect(throws: LLMError.toolFailed(name: "OfficeTool", "The office is closed.")) {
            try await failing.reply(to: "Open?", tools: [OfficeTool()], options: LLMReplyOptions(toolFailure: .fail))
        }
    }

    @Test func failureOfAToolMayEndTheReply() async throws {
        let tool = ClosureTool(name: "f") { _ in throw Broken() }
        let llm = ScriptedLLM(.calls(call("f")))
        await #expect(throws: LLMError.toolFailed(name: "f", "the station is closed")) {
            try await llm.reply(to: "Go", tools: [tool], options: LLMReplyOptions(toolFailure: .fail))
        }
    }

    @Test func roundsOfToolsAreLimited() async throws {
        let llm = ScriptedLLM(.calls(call("WeatherTool")))
        let session = llm.makeSession(tools: [WeatherTool()])
        await #expect(throws: LLMError.tooManyToolRounds(3)) {
            try await session.reply(to: "Go", options: LLMReplyOptions(maximumToolRounds: 3))
        }
        #expect(llm.requests.count == 4)
        #expect(await session.messages.isEmpty)
    }

    @Test func slowToolIsCancelledWithItsReply() async throws {
        let begun = Gate()
        let tool = ClosureTool(name: "slow") { _ in
            begun.open()
            try await Task.sleep(for: .seconds(3_600))
            return ""
        }
        let session = ScriptedLLM(.calls(call("slow"))).makeSession(tools: [tool])
        let task = Task { try await session.reply(to: "Go") }
        _ = try await blocking { begun.wait() }
        task.cancel()
        await #expect(throws: LLMError.cancelled) { try await task.value }
    }

    @Test func typedReplyWithToolsIsOneRequestIfTheModelCan() async throws {
        let json = #"{"temperature":72,"conditions":"sunny","location":"San Francisco"}"#
        let llm = ScriptedLLM(.calls(call("WeatherTool")), .text(json))
        let report = try await llm.reply(
            to: "What's the weather like in San Francisco?", returning: WeatherReport.self, tools: [WeatherTool()])
        #expect(report.content.temperature == 72)
        #expect(llm.requests.allSatisfy { $0.schema != nil && $0.tools.count == 1 } && llm.requests.count == 2)
    }

    @Test func otherwiseTheValueIsAskedForAfterTheTools() async throws {
        let json = #"{"temperature":72,"conditions":"sunny","location":"San Francisco"}"#
        let llm = ScriptedLLM(
            schemasWithTools: false, .calls(call("WeatherTool")), .text("72 degrees and sunny."), .text(json))
        let report = try await llm.reply(to: "Weather?", returning: WeatherReport.self, tools: [WeatherTool()])
        #expect(report.content.conditions == "sunny")
        #expect(llm.requests.map { $0.schema == nil } == [true, true, false])
        #expect(llm.requests.map(\.tools.count) == [1, 1, 0])
        // A model that answers in the form by itself is not asked again.
        let quick = ScriptedLLM(schemasWithTools: false, .text(json))
        _ = try await quick.reply(to: "Weather?", returning: WeatherReport.self, tools: [WeatherTool()])
        #expect(quick.requests.count == 1)
    }
}
