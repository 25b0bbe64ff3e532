import ChatterdConfiguration
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServerTestSupport

/// `POST /llmtools`: the tools of a device.
@Suite(.timeLimit(.minutes(30))) struct DeviceToolTests {
    /// The kinds of model servers that a test asks.
    enum Kind: String, CaseIterable {
        case ollama
        case olderOllama
        case openai

        fileprivate func environment(_ upstream: ScriptedUpstream) -> [Setting: String] {
            guard self == .openai else { return [.ollama: upstream.url] }
            return [
                .upstreams: #"[{"name":"gpu","kind":"openai","url":"\#(upstream.url)/v1","models":["tiny"]}]"#
            ]
        }

        /// An answer with a text.
        fileprivate func answer(_ text: String) -> [UpstreamStep] {
            guard self == .openai else { return .answer([text]) }
            return events([OpenAIStream.token(text), OpenAIStream.finish])
        }

        /// An answer with calls of tools, given as name and the JSON text of the arguments.
        fileprivate func answer(calling calls: [(String, String)]) -> [UpstreamStep] {
            switch self {
            case .ollama: return .lines(ModelLine.toolCalls(calls))
            case .olderOllama: return .lines(ModelLine.toolCalls(calls, .v0_11))
            case .openai:
                let pieces = calls.enumerated().map { index, call in
                    let function = #"{"name":\#(jsonString(call.0)),"arguments":\#(jsonString(call.1))}"#
                    return OpenAIStream.chunk(
                        #""tool_calls":[{"index":\#(index),"id":"c\#(index)","type":"function","function":\#(function)}]"#
                    )
                }
                return events(pieces + [OpenAIStream.chunk("", finish: #""tool_calls""#)])
            }
        }

        private func events(_ events: [String]) -> [UpstreamStep] {
            [.head(200, [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")])]
                + (events + [OpenAIStream.usage, OpenAIStream.done]).map { .chunk($0) } + [.endChunks]
        }

        /// A model server that gives these answers, one for each request.
        fileprivate func upstream(_ answers: [UpstreamStep]...) throws -> ScriptedUpstream {
            try ScriptedUpstream { answers[min($0.number, answers.count - 1)] }
        }
    }

    private static var location: ToolClient.Tool { .location("latitude: 42.29, longitude: -83.71") }

    private static func tool(
        _ name: String, _ rest: String = #","parameters":{"type":"object","properties":{}}"#
    ) -> String {
        #"{"type":"function","function":{"name":"\#(name)"\#(rest)}}"#
    }

    private static func body(_ messages: String, tools: String? = nil, adding more: String = "") -> String {
        let member = tools.map { ",\"tools\":\($0)" } ?? ""
        return #"{"appID":"app","model":"tiny","messages":[\#(messages)]\#(member)\#(more)}"#
    }

    private static let hello = #"{"role":"user","content":"Hello"}"#

    private static func post(
        _ stage: Stage, _ messages: String = hello, tools: String? = nil, adding more: String = "",
        fields: [(String, String)] = []
    ) throws -> HTTPExchange {
        try RawClient.post(
            port: stage.port, "/llmtools", json: body(messages, tools: tools, adding: more), fields: fields)
    }

    /// The names of the tools that a model server got; `nil` without the member.
    private static func tools(_ request: UpstreamRequest?) -> [String]? {
        (request?.json["tools"] as? [[String: Any]])?.map {
            ($0["function"] as? [String: Any])?["name"] as? String ?? "?"
        }
    }

    /// The messages that a model server got, with the names of their calls.
    private static func said(_ request: UpstreamRequest?) -> [String] {
        (request?.json["messages"] as? [[String: Any]] ?? []).map { message in
            let calls = (message["tool_calls"] as? [[String: Any]] ?? []).map {
                ($0["function"] as? [String: Any])?["name"] as? String ?? "?"
            }
            return (["\(message["role"] ?? "?")", message["content"] as? String ?? ""] + calls)
                .filter { !$0.isEmpty }.joined(separator: " ")
        }
    }

    private static func calls(_ exchange: HTTPExchange) -> [ServerEvent] {
        exchange.events.filter { $0.name == "tool_calls" }
    }

    // MARK: - The flow

    @Test(arguments: Kind.allCases) func toolOfTheDeviceContinuesTheTurn(kind: Kind) async throws {
        let upstream = try kind.upstream(
            kind.answer(calling: [("get_location", "{}")]), kind.answer("You are in Ann Arbor."))
        try await onStage(environment: kind.environment(upstream)) { stage in
            var client = ToolClient(appID: "app", tools: [Self.location])
            try client.ask("Where am I?") { try RawClient.post(port: stage.port, "/llmtools", json: $0).body }
            #expect(client.message == "You are in Ann Arbor." && client.errMsg.isEmpty, "\(client.errMsg)")
            #expect(client.calls == ["get_location"] && client.requests.count == 2)
            #expect(!client.requests[1].contains("tools"))
            #expect(upstream.requests.map { Self.tools($0) } == [["get_location"], ["get_location"]])
            let asked = "user Where am I?"
            let result = "tool latitude: 42.29, longitude: -83.71"
            #expect(upstream.requests.map { Self.said($0) } == [[asked], [asked, "assistant get_location", result]])
            // Calls and results are in the rows, and so in the history and the export.
            #expect(try stage.rows("app").map(\.role) == ["user", "assistant", "tool", "assistant"])
            #expect(try stage.rows("app")[1].extras?.contains("get_location") == true)
            for path in ["/conversations/app?appID=app", "/conversations/app/export?appID=app"] {
                let text = try stage.send("GET", path).text
                #expect(text.contains("get_location") && text.contains("latitude: 42.29, longitude: -83.71"), "\(path)")
            }
            // A later prompt has all of it.
            _ = try Self.post(stage)
            #expect(
                Self.said(upstream.requests.last)
                    == [asked, "assistant get_location", result, "assistant You are in Ann Arbor.", "user Hello"])
        }
    }

    /// The schema of `get_location` has null for its parameters.
    @Test(arguments: Kind.allCases) func schemaWithoutParametersIsAnObjectForTheModelServer(kind: Kind) async throws {
        let upstream = try kind.upstream(kind.answer("ok"))
        try await onStage(environment: kind.environment(upstream)) { stage in
            let answer = try Self.post(stage, tools: "[\(Self.tool("f", #","parameters":null"#))]")
            #expect(answer.status == 200)
            let sent = String(decoding: upstream.requests.last?.body ?? [], as: UTF8.self)
            #expect(sent.contains(#""tools":[\#(Self.tool("f"))]"#), "\(sent)")
        }
    }

    /// Location, then weather, then the answer; both tools are on the device here.
    @Test(arguments: Kind.allCases) func toolsFollowEachOther(kind: Kind) async throws {
        let upstream = try kind.upstream(
            kind.answer(calling: [("get_location", "{}")]),
            kind.answer(calling: [("get_weather", #"{"latitude":"42.29","longitude":"-83.71"}"#)]),
            kind.answer("It is 53 degrees."))
        try await onStage(environment: kind.environment(upstream)) { stage in
            let weather = ToolClient.Tool("get_weather", schema: Self.tool("get_weather")) {
                "Weather at lat: \($0["latitude"] ?? ""), lon: \($0["longitude"] ?? "") is 53F"
            }
            var client = ToolClient(appID: "app", tools: [Self.location, weather])
            try client.ask("Weather?") { try RawClient.post(port: stage.port, "/llmtools", json: $0).body }
            #expect(client.message == "It is 53 degrees." && client.errMsg.isEmpty, "\(client.errMsg)")
            #expect(client.calls == ["get_location", "get_weather"])
            #expect(
                Self.said(upstream.requests.last) == [
                    "user Weather?", "assistant get_location", "tool latitude: 42.29, longitude: -83.71",
                    "assistant get_weather", "tool Weather at lat: 42.29, lon: -83.71 is 53F",
                ])
        }
    }

    @Test(arguments: Kind.allCases) func severalCallsAreAnsweredInTheirOrder(kind: Kind) async throws {
        let upstream = try kind.upstream(
            kind.answer(calling: [("a", "{}"), ("b", "{}"), ("a", "{}")]), kind.answer("ok"))
        try await onStage(environment: kind.environment(upstream)) { stage in
            var number = 0
            let tools = ["a", "b"].map { name in
                ToolClient.Tool(name, schema: Self.tool(name)) { _ in
                    number += 1
                    return "\(name)\(number)"
                }
            }
            var client = ToolClient(appID: "app", tools: tools)
            try client.ask("x") { try RawClient.post(port: stage.port, "/llmtools", json: $0).body }
            #expect(client.message == "ok" && client.calls == ["a", "b", "a"])
            #expect(
                Self.said(upstream.requests.last) == ["user x", "assistant a b a", "tool a1", "tool b2", "tool a3"])
            guard kind == .openai else { return }
            // Servers of this API need the id of each call with its result.
            let results = (upstream.requests.last?.json["messages"] as? [[String: Any]] ?? []).dropFirst(2)
            #expect(results.map { $0["tool_call_id"] as? String } == ["c0", "c1", "c2"])
        }
    }

    // MARK: - The stream

    @Test(arguments: Kind.allCases) func callIsAnEventInOllamasShape(kind: Kind) async throws {
        let arguments = #"{"count":3,"nested":{"list":["a",1.5,null]},"text":"ü \"q\""}"#
        let upstream = try kind.upstream(kind.answer(calling: [("f", arguments)]))
        try await onStage(environment: kind.environment(upstream)) { stage in
            let answer = try Self.post(stage, tools: "[\(Self.tool("f"))]")
            let event = try #require(Self.calls(answer).first)
            let line = object(event.data ?? "")
            let message = line["message"] as? [String: Any] ?? [:]
            #expect(message["role"] as? String == "assistant" && message["content"] as? String == "")
            #expect(line["done"] as? Bool == false && line["model"] is String && line["created_at"] is String)
            #expect(event.data?.contains(#""arguments":\#(arguments)"#) == true, "\(event.data ?? "")")
            // No other event has a call, and the last line has none.
            #expect(Self.calls(answer).count == 1)
            #expect(!answer.events.contains { $0.name == nil && $0.data?.contains("arguments") == true })
            #expect(answer.events.last?.isLast == true && answer.events.last?.name == nil)
        }
    }

    @Test(arguments: Kind.allCases) func clientsOfLlmchatSeeCallsAsLines(kind: Kind) async throws {
        let upstream = try kind.upstream(kind.answer(calling: [("f", "{}")]))
        try await onStage(environment: kind.environment(upstream)) { stage in
            let answer = Transcript(try stage.ask("app", "x", adding: ",\"tools\":[\(Self.tool("f"))]"))
            answer.check()
            #expect(answer.exchange.events.allSatisfy { $0.name == nil })
            #expect(answer.lines.contains { $0.contains(#""tool_calls":[{"#) })
            // Their tools belong to the request alone.
            _ = try stage.ask("app", "x")
            #expect(Self.tools(upstream.requests.last) == nil)
            _ = try Self.post(stage)
            #expect(Self.tools(upstream.requests.last) == nil)
        }
    }

    /// The tutorial's client without tools ignores the name of an event that it does not know.
    @Test func clientThatDoesNotKnowTheEventSeesTheText() async throws {
        let upstream = try ScriptedUpstream(
            .lines([ModelLine.token("One moment.")] + ModelLine.toolCalls([("f", "{}")], .v0_11)))
        try await onStage(upstream: upstream.url) { stage in
            let client = SeedClient(try Self.post(stage, tools: "[\(Self.tool("f"))]").body)
            #expect(client.message == "One moment." && client.errMsg.isEmpty && client.violation == nil)
            #expect(client.unknownEvents == ["tool_calls"])
        }
    }

    @Test(arguments: Kind.allCases) func replyIsReadAgainFromEachOfItsEvents(kind: Kind) async throws {
        let upstream = try kind.upstream(kind.answer(calling: [("f", #"{"a":1}"#), ("g", "{}")]))
        try await onStage(environment: kind.environment(upstream)) { stage in
            let answer = try Self.post(stage, tools: "[\(Self.tool("f")),\(Self.tool("g"))]")
            let location = try #require(answer["Location"])
            let events = answer.events.filter { $0.data != nil }
            for event in events.dropLast() {
                let rest = try stage.read(location, after: event.id)
                #expect(rest.events.last?.id == events.last?.id)
                // The calls of this event and of those before it do not come again.
                let known = events.prefix { $0 != event }.count + 1
                #expect(rest.text.contains(#""name""#) == (known < Self.calls(answer).count), "\(rest.text)")
            }
        }
    }

    @Test func repeatedRequestGetsTheSameEvents() async throws {
        let upstream = try ScriptedUpstream(.lines(ModelLine.toolCalls([("f", "{}")])))
        try await onStage(upstream: upstream.url) { stage in
            let key = [("Idempotency-Key", "k")]
            let answers = try (0..<2).map { _ in
                try Self.post(stage, tools: "[\(Self.tool("f"))]", fields: key)
            }
            #expect(answers[0]["Location"] == answers[1]["Location"] && upstream.requests.count == 1)
            #expect(answers.map { Self.calls($0).map(\.id) }[0] == answers.map { Self.calls($0).map(\.id) }[1])
            #expect(Self.calls(answers[1]).count == 1)
        }
    }

    @Test func answerInOnePieceHasTheCallsInItsMessage() async throws {
        let upstream = try ScriptedUpstream(.lines(ModelLine.toolCalls([("f", #"{"a":1}"#)])))
        try await onStage(upstream: upstream.url) { stage in
            let answer = try Self.post(stage, tools: "[\(Self.tool("f"))]", adding: #","stream":false"#)
            let message = answer.json["message"] as? [String: Any]
            #expect((message?["tool_calls"] as? [Any])?.count == 1)
        }
    }

    // MARK: - Kept tools

    @Test func toolsAreReplacedByTheNextOnes() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            for (tools, expected) in [
                (nil, nil), ("[\(Self.tool("a")),\(Self.tool("b"))]", ["a", "b"]), (nil, ["a", "b"]),
                ("[\(Self.tool("b"))]", ["b"]), ("null", ["b"]), ("[\(Self.tool("b"))]", ["b"]), (nil, ["b"]),
                ("[]", nil), (nil, nil),
            ] as [(String?, [String]?)] {
                let answer = try Self.post(stage, tools: tools)
                #expect(answer.status == 200)
                #expect(Self.tools(upstream.requests.last) == expected)
            }
        }
    }

    @Test func toolsOutliveOtherPromptsAndTheProcess() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            _ = try Self.post(stage, tools: "[\(Self.tool("a"))]")
            _ = try stage.chat("app", "x")
            #expect(Self.tools(upstream.requests.last) == nil)
            let other = try stage.startAnother()
            _ = try Self.post(other)
            #expect(Self.tools(upstream.requests.last) == ["a"])
            // Other conversations have their own.
            _ = try Self.post(other, adding: #","conversation":"c""#)
            #expect(Self.tools(upstream.requests.last) == nil)
            try other.stop()
        }
    }

    /// A turn keeps the tools with which it was asked.
    @Test func anotherAnswerHasTheToolsOfItsTurn() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            _ = try Self.post(stage, tools: "[\(Self.tool("a"))]")
            let location = try #require(try Self.post(stage)["Location"])
            _ = try Self.post(stage, tools: "[\(Self.tool("b"))]")
            #expect(try RawClient.post(port: stage.port, "\(location)/regenerate", json: "").status == 200)
            #expect(Self.tools(upstream.requests.last) == ["a"])
        }
    }

    @Test func toolsGoWithTheirConversation() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            _ = try Self.post(stage, tools: "[\(Self.tool("a"))]")
            let system = #"{"role":"system","content":"Be brief."}"#
            #expect(try RawClient.post(port: stage.port, "/llmprep", json: Self.body(system)).status == 200)
            _ = try Self.post(stage)
            #expect(Self.tools(upstream.requests.last) == nil)
        }
    }

    // MARK: - Refusals

    @Test func refusedRequestStoresAndReplacesNothing() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            _ = try Self.post(stage, tools: "[\(Self.tool("a"))]")
            let rows = try stage.rows("app")
            let large = String(repeating: "d", count: 70_000)
            for (tools, message) in [
                ("{}", "tools must be an array, not an object."),
                ("[{}]", "tools[0].function is missing."),
                (
                    "[\(Self.tool("b")),\(Self.tool("b"))]",
                    "tools[1].function.name must be another one than that of tools[0]."
                ),
                (
                    "[\(Self.tool("b", #","parameters":[]"#))]",
                    "tools[0].function.parameters must be an object, not an array."
                ),
                ("[\(Self.tool("b", ",\"description\":\"\(large)\""))]", "at most 65536 are allowed."),
            ] {
                let answer = try Self.post(stage, tools: tools)
                #expect(answer.status == 422 && answer.json["code"] as? String == "invalid_request")
                #expect((answer.json["error"] as? String)?.hasSuffix(message) == true, "\(answer.text)")
            }
            #expect(try stage.rows("app") == rows)
            _ = try Self.post(stage)
            #expect(Self.tools(upstream.requests.last) == ["a"])
        }
    }

    @Test func largestToolsReachTheModelServer() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            let text = String(repeating: "d", count: 400)
            let tools = (0..<128).map { Self.tool("f\($0)", ",\"description\":\"\(text)\",\"parameters\":{}") }
            #expect(try Self.post(stage, tools: "[\(tools.joined(separator: ","))]").status == 200)
            _ = try Self.post(stage)
            #expect(Self.tools(upstream.requests.last) == (0..<128).map { "f\($0)" })
        }
    }

    // MARK: - The place

    @Test(arguments: ["/llmchat", "/llmtools"]) func placeOfAnAnswerIsAnEvent(path: String) async throws {
        let upstream = try ScriptedUpstream.answering(["You won: WIN", "NER!!!:42.2", "9:-83.71:", " Bye"])
        try await onStage(upstream: upstream.url) { stage in
            let answer = try RawClient.post(port: stage.port, path, json: Self.body(Self.hello))
            let data = answer.events.filter { $0.data != nil }
            #expect(data.last?.name == "latlon" && data.last?.id == nil)
            #expect(data.last?.data == #"{"lat": 42.29, "lon": -83.71}"#)
            #expect(data.dropLast().last?.isLast == true && data.dropLast().allSatisfy { $0.name == nil })
            // Readers of the reply and answers in one piece are as before.
            let location = try #require(answer["Location"])
            #expect(!(try stage.read(location).text.contains("latlon")))
        }
    }
}
