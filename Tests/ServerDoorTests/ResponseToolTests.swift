import ChatterdConfiguration
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// Tools of servers at `/v1/responses`.
@Suite(.timeLimit(.minutes(30))) struct ResponseToolTests {
    private static let path = "/v1/responses"
    private static let identity = [("X-App-ID", "shop"), ("X-Conversation-ID", "trip")]
    private static let server = #","tools":[{"type":"mcp","server_label":"docs","require_approval":"never"}]"#
    private static let schema = #"{"type":"object","properties":{"a":{"type":"number"}}}"#

    /// A server with a tool that answers with its arguments, and one that fails.
    private static func tools() throws -> ScriptedUpstream {
        try ScriptedUpstream { request in
            let message = request.json
            let result =
                switch message["method"] as? String {
                case "server/discover": #"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#
                case "tools/list":
                    #"{"tools":[{"name":"show","description":"Shows","inputSchema":\#(schema)},{"name":"fail","inputSchema":\#(schema)}]}"#
                default: Self.result(message["params"] as? [String: Any] ?? [:])
                }
            return .plain(200, #"{"jsonrpc":"2.0","id":\#(message["id"] ?? "null"),"result":\#(result)}"#)
        }
    }

    private static func result(_ call: [String: Any]) -> String {
        let number = (call["arguments"] as? [String: Any])?["a"] as? Int ?? 0
        let isError = call["name"] as? String == "fail"
        return #"{"content":[{"type":"text","text":"result \#(number)"}],"isError":\#(isError)}"#
    }

    /// A model that calls the tools `docs_show` and `docs_fail`, then `docs_show` again, and answers.
    private static func model() throws -> ScriptedUpstream {
        try ScriptedUpstream { request in
            let messages = request.json["messages"] as? [[String: Any]] ?? []
            let results = messages.reversed().prefix { $0["role"] as? String != "user" }.filter {
                $0["role"] as? String == "tool"
            }
            switch results.count {
            case 0:
                return .lines(
                    [ModelLine.token("Look. ")]
                        + ModelLine.toolCalls([("docs_show", #"{"a":1}"#), ("docs_fail", #"{"a":2}"#)]))
            case 2: return .lines(ModelLine.toolCalls([("docs_show", #"{"a":3}"#)]))
            default: return .answer(["Done."])
            }
        }
    }

    private static func onStage(
        _ body: @escaping @Sendable (Stage, ScriptedUpstream) throws -> Void
    ) async throws {
        let (model, server) = (try model(), try tools())
        let entry = #"[{"name":"docs","mcp":"\#(server.url)/mcp","allow_private":true}]"#
        try await ChatterdServerTestSupport.onStage(upstream: model.url, environment: [.tools: entry]) { stage in
            try withExtendedLifetime(server) { try body(stage, model) }
        }
    }

    private static func ask(
        _ stage: Stage, _ members: String, tools: String = server, fields: [(String, String)] = identity
    ) throws -> HTTPExchange {
        // The server of tools may be slow to answer the first time.
        try eventually("the tools of the server") {
            let answer = try RawClient.post(
                port: stage.port, path, json: "{\"model\":\"tiny\",\(members)\(tools)}", fields: fields)
            return answer.status == 400 && answer.text.contains("at present") ? nil : answer
        }
    }

    private static func events(_ text: String) -> [String] {
        text.components(separatedBy: "\n\n").compactMap { event in
            event.firstRange(of: "\ndata: ").map { String(event[$0.upperBound...]) }
        }.filter { $0 != "[DONE]" }
    }

    private static func object(_ text: String?) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data((text ?? "").utf8)) as? [String: Any])
    }

    private static func items(_ response: [String: Any]) -> [[String: Any]] {
        response["output"] as? [[String: Any]] ?? []
    }

    private static func types(_ items: [[String: Any]]) -> [String] { items.map { $0["type"] as? String ?? "" } }

    private static let all = ["mcp_list_tools", "message", "mcp_call", "mcp_call", "mcp_call", "message"]

    @Test func answerAndRetrievedResponseHaveTheCalls() async throws {
        try await Self.onStage { stage, _ in
            let answer = try Self.ask(stage, #""input":"Hi""#)
            let items = Self.items(answer.json)
            #expect(answer.status == 200 && Self.types(items) == Self.all, "\(answer.text)")
            let list = try #require(items[0]["tools"] as? [[String: Any]])
            #expect(list.map { $0["name"] as? String } == ["show", "fail"])
            #expect(list[0]["input_schema"] as? NSDictionary == (try Self.object(Self.schema)) as NSDictionary)
            #expect(items[2...4].map { $0["name"] as? String } == ["show", "fail", "show"])
            #expect(items[2...4].map { $0["status"] as? String } == ["completed", "failed", "completed"])
            #expect(items[2...4].map { $0["arguments"] as? String } == [#"{"a":1}"#, #"{"a":2}"#, #"{"a":3}"#])
            #expect(items[2...4].map { $0["output"] as? String } == ["result 1", nil, "result 3"])
            let id = try #require(answer.json["id"] as? String)
            #expect(try stage.send("GET", "\(Self.path)/\(id)", fields: Self.identity).text == answer.text)
            let listed = try stage.send("GET", "/v1/conversations/trip/items?order=asc", fields: Self.identity).json
            let data = try #require(listed["data"] as? [[String: Any]])
            #expect(Self.types(data) == ["message"] + Self.all)
            #expect(data.dropFirst().map { $0["id"] as? String } == items.map { $0["id"] as? String })
        }
    }

    @Test func streamHasTheCallsAndContinuesAfterAnyEvent() async throws {
        try await Self.onStage { stage, _ in
            let stream = try Self.ask(stage, #""input":"Hi","stream":true"#)
            let events = Self.events(stream.text)
            let numbers = try events.map { try #require(try Self.object($0)["sequence_number"] as? Int) }
            #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count)
            let response = try #require(try Self.object(events.last)["response"] as? [String: Any])
            #expect(Self.types(Self.items(response)) == Self.all)
            let id = try #require(response["id"] as? String)
            let whole = try stage.send("GET", "\(Self.path)/\(id)", fields: Self.identity)
            #expect(whole.json as NSDictionary == response as NSDictionary)
            for (index, number) in numbers.enumerated() {
                let rest = try stage.send(
                    "GET", "\(Self.path)/\(id)?stream=true&starting_after=\(number)", fields: Self.identity)
                #expect(Self.events(rest.text).elementsEqual(events.dropFirst(index + 1)), "after \(number)")
            }
        }
    }

    @Test func repeatedRequestGetsTheSameItems() async throws {
        try await Self.onStage { stage, model in
            let fields = Self.identity + [("Idempotency-Key", "k1")]
            let first = try Self.ask(stage, #""input":"Hi""#, fields: fields)
            let again = try Self.ask(stage, #""input":"Hi""#, fields: fields)
            #expect(Self.types(Self.items(first.json)) == Self.all && model.requests.count == 3)
            #expect(Self.items(again.json) as NSArray == Self.items(first.json) as NSArray)
        }
    }

    /// The next request has the items of the answer, as clients that keep their history send them.
    @Test func itemsThatAreSentBackAreTheStoredAnswer() async throws {
        try await Self.onStage { stage, model in
            let fields = [("X-App-ID", "shop")]
            let first = try Self.ask(stage, #""input":"Hi""#, fields: fields)
            let items = Self.items(first.json)
            let sent = [["role": "user", "content": "Hi"]] + items + [["role": "user", "content": "And?"]]
            let input = String(decoding: try JSONSerialization.data(withJSONObject: sent), as: UTF8.self)
            let second = try Self.ask(stage, "\"input\":\(input)", fields: fields)
            #expect(second.status == 200 && second["X-Ignored-Members"] == nil, "\(second.text)")
            #expect(second["X-Conversation-ID"] == first["X-Conversation-ID"])
            let expected = [
                "user Hi", "assistant Look. ", "tool result 1", "tool result 2", "assistant ", "tool result 3",
                "assistant Done.", "user And?",
            ]
            func contents(_ request: UpstreamRequest) -> [String] {
                let messages = request.json["messages"] as? [[String: Any]] ?? []
                return messages.map { message in
                    let text = message["content"] as? String ?? "?"
                    return "\(message["role"] ?? "?") \(text.hasPrefix("Error: ") ? String(text.dropFirst(7)) : text)"
                }
            }
            #expect(contents(model.requests[3]) == expected)
            // The same history without its conversation.
            _ = try Self.ask(stage, "\"input\":\(input),\"store\":false", fields: [])
            #expect(contents(model.requests[6]) == expected)
        }
    }

    @Test func requestLimitsTheCalls() async throws {
        try await Self.onStage { stage, _ in
            let answer = try Self.ask(stage, #""input":"Hi","max_tool_calls":1"#)
            #expect(answer["X-Ignored-Members"] == nil && answer.json["max_tool_calls"] as? Int == 1)
            let calls = Self.items(answer.json).filter { $0["type"] as? String == "mcp_call" }
            #expect(calls.map { $0["status"] as? String } == ["completed", "failed", "failed"])
            let error = try #require(calls[2]["error"] as? [String: Any])
            let text = (error["content"] as? [[String: String]])?.first?["text"]
            #expect(text == "Error: not run, because the request permits 1 calls (max_tool_calls).")
        }
    }

    // MARK: - Approvals

    private static let asking = server.replacing("never", with: "always")

    private static func contents(_ request: UpstreamRequest?) -> [String] {
        let messages = request?.json["messages"] as? [[String: Any]] ?? []
        return messages.map { "\($0["role"] ?? "?") \($0["content"] ?? "?")" }
    }

    /// A model that calls `docs_show`, and answers with the last message.
    private static func askingModel() throws -> ScriptedUpstream {
        try ScriptedUpstream { request in
            let messages = request.json["messages"] as? [[String: Any]] ?? []
            guard messages.last?["role"] as? String == "tool" else {
                return .lines(ModelLine.toolCalls([("docs_show", #"{"a":1}"#)]))
            }
            return .answer([messages.last?["content"] as? String ?? "?"])
        }
    }

    /// Asks, and answers the item that asks for an approval: after the response, or with all items.
    private static func approve(
        _ isApproved: Bool, isWhole: Bool, stream: Bool = false, _ stage: Stage
    ) throws -> HTTPExchange {
        let fields = [("X-App-ID", "shop")]
        let first = try ask(stage, #""input":"Hi""#, tools: asking, fields: fields)
        #expect(types(items(first.json)) == ["mcp_list_tools", "mcp_approval_request"], "\(first.text)")
        #expect(first.json["status"] as? String == "completed")
        let asked = try #require(items(first.json).last)
        let answer: [String: Any] = [
            "type": "mcp_approval_response", "approval_request_id": asked["id"] ?? "", "approve": isApproved,
        ]
        let sent = (isWhole ? [["role": "user", "content": "Hi"]] + items(first.json) : []) + [answer]
        let input = String(decoding: try JSONSerialization.data(withJSONObject: sent), as: UTF8.self)
        let before = isWhole ? "" : ",\"previous_response_id\":\"\(first.json["id"] as? String ?? "")\""
        return try ask(stage, "\"stream\":\(stream),\"input\":\(input)\(before)", tools: asking, fields: fields)
    }

    private static func onAskingStage(
        _ body: @escaping @Sendable (Stage, ScriptedUpstream, ScriptedUpstream) throws -> Void
    ) async throws {
        let (model, server) = (try askingModel(), try tools())
        let entry = #"[{"name":"docs","mcp":"\#(server.url)/mcp","allow_private":true}]"#
        try await ChatterdServerTestSupport.onStage(upstream: model.url, environment: [.tools: entry]) { stage in
            try body(stage, model, server)
        }
    }

    private static func calls(_ server: ScriptedUpstream) -> Int {
        server.requests.filter { $0.json["method"] as? String == "tools/call" }.count
    }

    @Test(arguments: [true, false]) func approvedCallRunsInTheNextResponse(isWhole: Bool) async throws {
        try await Self.onAskingStage { stage, model, server in
            let second = try Self.approve(true, isWhole: isWhole, stage)
            let items = Self.items(second.json)
            #expect(Self.types(items) == ["mcp_list_tools", "mcp_call", "message"], "\(second.text)")
            #expect(items[1]["output"] as? String == "result 1" && items[1]["name"] as? String == "show")
            #expect((items[1]["approval_request_id"] as? String)?.hasPrefix("mcpr_") == true)
            #expect(Self.calls(server) == 1 && model.requests.count == 2)
            #expect(
                Self.contents(model.requests.last) == [
                    "user Hi", "assistant ", "tool A person has approved this call. It is made now.", "assistant ",
                    "tool result 1",
                ])
            let id = try #require(second.json["id"] as? String)
            let path = "\(Self.path)/\(id)"
            #expect(try stage.send("GET", path, fields: [("X-App-ID", "shop")]).text == second.text)
        }
    }

    @Test(arguments: [true, false]) func refusedCallDoesNotRun(isWhole: Bool) async throws {
        try await Self.onAskingStage { stage, model, server in
            let second = try Self.approve(false, isWhole: isWhole, stream: true, stage)
            let last = try #require(try Self.object(Self.events(second.text).last)["response"] as? [String: Any])
            #expect(Self.types(Self.items(last)) == ["mcp_list_tools", "message"], "\(second.text)")
            #expect(Self.calls(server) == 0)
            #expect(Self.contents(model.requests.last).last == "tool A person has refused this call.")
        }
    }

    @Test func approvalOfAnUnknownCallIsRefused() async throws {
        try await Self.onAskingStage { stage, model, server in
            let answer = #"{"type":"mcp_approval_response","approval_request_id":"mcpr_x_0","approve":true}"#
            let refused = try Self.ask(stage, "\"input\":[\(answer)]", tools: Self.asking)
            #expect(refused.status == 400 && refused.text.contains("previous_response_id"), "\(refused.text)")
            let asked =
                #"{"type":"mcp_approval_request","id":"mcpr_x_0","server_label":"docs","name":"show","arguments":"{}"}"#
            let other = try Self.ask(stage, "\"input\":[\(asked),\(answer)]", tools: "")
            #expect(other.status == 400 && other.text.contains("name the server"), "\(other.text)")
            #expect(model.requests.isEmpty && Self.calls(server) == 0)
        }
    }

    @Test func itemsOfAConversationMayBeCalls() async throws {
        try await Self.onStage { stage, model in
            let call =
                #"{"type":"mcp_call","id":"x","server_label":"docs","name":"show","arguments":"{\"a\":7}","output":"seven"}"#
            let items = #"[{"role":"user","content":"Hi"},\#(call),{"role":"assistant","content":"It is seven."}]"#
            let created = try RawClient.post(
                port: stage.port, "/v1/conversations", json: "{\"items\":\(items)}", fields: [("X-App-ID", "shop")])
            let id = try #require(created.json["id"] as? String, "\(created.text)")
            let listed = try stage.send(
                "GET", "/v1/conversations/\(id)/items?order=asc", fields: [("X-App-ID", "shop")])
            let data = try #require(listed.json["data"] as? [[String: Any]], "\(listed.text)")
            #expect(Self.types(data) == ["message", "mcp_call", "message"])
            #expect(data[1]["name"] as? String == "show" && data[1]["output"] as? String == "seven")
            _ = try Self.ask(
                stage, "\"input\":\"And?\",\"conversation\":\"\(id)\"", fields: [("X-App-ID", "shop")])
            #expect(
                model.requests.first?.messages.map(\.[1]) == ["Hi", "", "seven", "It is seven.", "And?"])
        }
    }
}
