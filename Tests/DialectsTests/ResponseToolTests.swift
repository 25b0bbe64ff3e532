import ChatterdBasics
import ChatterdChat
import ChatterdRelay
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdDialects

/// The items and events of tools of servers in responses.
struct ResponseToolTests {
    private static let add = ServerTool(
        name: "docs_add",
        json: Array(
            #"{"type":"function","function":{"name":"docs_add","description":"Adds","parameters":{"type":"object"}}}"#
                .utf8),
        nameOnServer: "add")

    /// The servers of a request that names one.
    private static var servers: ResponseServers { servers(isAsked: false) }

    private static func servers(isAsked: Bool) -> ResponseServers {
        var request = ChatRequest(appID: "a", model: "m", messages: [])
        request.offer([("docs", [add], { _ in isAsked })])
        return ResponseServers(of: request.passThrough)
    }

    private static func call(
        _ arguments: String, _ state: AnswerSteps.State, _ result: String, isNamed: Bool = true
    ) throws -> AnswerSteps.Call {
        let json = #"{"function":{"name":"docs_add","arguments":\#(arguments)}}"#
        var call = try #require(AnswerSteps.Call(JSONSlice(Array(json.utf8))))
        call.end(state, Array(result.utf8))
        if isNamed { call.origin = ToolOrigin(label: "docs", name: "add") }
        return call
    }

    private static func round(
        _ text: String, thinking: String = "", _ calls: AnswerSteps.Call...
    ) -> AnswerSteps.Round {
        AnswerSteps.Round(text: Array(text.utf8), thinking: Array(thinking.utf8), calls: calls)
    }

    private static func steps(_ rounds: AnswerSteps.Round...) -> AnswerSteps {
        var steps = AnswerSteps()
        steps.rounds = rounds
        return steps
    }

    /// Two rounds: one with text, reasoning and two calls, of which the second one ends first, and one with a call only.
    private static func rounds() throws -> [AnswerSteps] {
        func first(_ one: AnswerSteps.State, _ two: AnswerSteps.State) throws -> AnswerSteps.Round {
            round(
                "Grüße, ", thinking: "I think.", try call(#"{"a":"Å"}"#, one, one.isEnd ? "1" : ""),
                try call("{}", two, two.isEnd ? "Error: 2" : ""))
        }
        func second(_ state: AnswerSteps.State) throws -> AnswerSteps.Round {
            round("", try call("{}", state, "3"))
        }
        return [
            steps(try first(.waiting, .waiting)), steps(try first(.running, .running)),
            steps(try first(.running, .failed)), steps(try first(.done, .failed)),
            steps(try first(.done, .failed), try second(.running)), steps(try first(.done, .failed), try second(.done)),
        ]
    }

    /// The stream as the process with the model writes it.
    private static func live(after number: Int? = nil) throws -> ResponseTranscript {
        let all = try rounds()
        return try ResponseTranscript(
            [
                token(#""content":"","thinking":"I th""#), token(#""content":"","thinking":"ink.""#),
                token(#""content":"Grü""#), token(#""content":"ße, ""#), token(#""content":"""#),
                token(#""content":"""#), token(#""content":"""#), token(#""content":"""#), token(#""content":"""#),
                token(#""content":"","thinking":"So.""#), token(#""content":"🐣 don""#), token(#""content":"e""#),
                last(#""content":".""#),
            ], after: number, servers: servers,
            steps: [4: all[0], 5: all[1], 6: all[2], 7: all[3], 8: all[4], 9: all[5]])
    }

    /// The stream of a stored answer: the steps, then each part in one line.
    private static func stored(after number: Int? = nil) throws -> ResponseTranscript {
        try ResponseTranscript(
            [token(#""content":"","thinking":"I think.So.""#), token(#""content":"Grüße, 🐣 done.""#), last()],
            after: number, servers: servers, steps: [0: try rounds()[5]])
    }

    /// The stream of a process that reads the answer page by page, and the steps before the text that precedes them.
    private static func followed(after number: Int? = nil) throws -> ResponseTranscript {
        let all = try rounds()
        return try ResponseTranscript(
            [
                token(#""content":"","thinking":"I""#), token(#""content":"","thinking":" think.""#),
                token(#""content":"Gr""#), token(#""content":"","thinking":"So.""#), token(#""content":"üße, 🐣""#),
                token(#""content":" done.""#), last(),
            ], after: number, servers: servers, steps: [1: all[2], 3: all[5]])
    }

    private static func object(_ event: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(event.utf8)) as? [String: Any])
    }

    /// The events with adjacent deltas joined, in a form that can be compared.
    private static func joined(_ events: [String]) throws -> [String] {
        var result: [(head: String, delta: String, number: Int)] = []
        for event in events {
            var object = try object(event)
            let (delta, number) = (object["delta"] as? String, ResponseTranscript.number(of: event))
            (object["delta"], object["sequence_number"]) = (nil, nil)
            let head = String(
                decoding: try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys]), as: UTF8.self)
            if let delta, let before = result.last, before.head == head {
                result[result.count - 1] = (head, before.delta + delta, number)
            } else {
                result.append((head, delta ?? "", number))
            }
        }
        return result.map { "\($0.number) \($0.head) \($0.delta)" }
    }

    private static func names(_ events: [String]) throws -> [String] {
        var names: [String] = []
        for event in events {
            let name = try #require(try object(event)["type"] as? String).replacing("response.", with: "")
            if names.last != name { names.append(name) }
        }
        return names
    }

    private static func output(_ event: String?) throws -> [[String: Any]] {
        let response = try object(try #require(event))["response"] as? [String: Any]
        return try #require(response?["output"] as? [[String: Any]])
    }

    private static func call(ending end: String) -> [String] {
        [
            "output_item.added", "mcp_call.in_progress", "mcp_call_arguments.delta", "mcp_call_arguments.done",
            "mcp_call.\(end)", "output_item.done",
        ]
    }

    private static let reasoning = [
        "output_item.added", "content_part.added", "reasoning.delta", "reasoning.done", "content_part.done",
        "output_item.done",
    ]
    private static let message = [
        "output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done",
        "output_item.done",
    ]

    @Test func callsAreItemsBetweenTheMessages() throws {
        let events = try Self.live().events
        let list = [
            "output_item.added", "mcp_list_tools.in_progress", "mcp_list_tools.completed", "output_item.done",
        ]
        var expected = ["created", "in_progress"] + list + Self.reasoning + Self.message
        expected += Self.call(ending: "completed") + Self.call(ending: "failed") + Self.call(ending: "completed")
        expected += Self.reasoning + Self.message + ["completed"]
        #expect(try Self.names(events) == expected)
        let numbers = events.map(ResponseTranscript.number)
        #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count)
        #expect(try #require(numbers.last) < Int(Int32.max))
        let places = try events.compactMap { try Self.object($0)["output_index"] as? Int }
        #expect(places == places.sorted() && Set(places) == Set(0...7))
        // A client that adds the items of the events to those of the first one has none twice.
        #expect(try Self.output(events.first).isEmpty)
    }

    @Test func finalResponseHasTheItemsOfTheEvents() throws {
        let events = try Self.live().events
        let done = try events.map(Self.object).filter { $0["type"] as? String == "response.output_item.done" }
        let items = try done.map { try #require($0["item"] as? [String: Any]) }
        let output = try Self.output(events.last)
        #expect(items as NSArray == output as NSArray)
        #expect(
            output.map { $0["id"] as? String } == [
                "mcpl_\(replyID)_0", "rs_\(replyID)", "msg_\(replyID)", "mcp_\(replyID)_0_0", "mcp_\(replyID)_0_1",
                "mcp_\(replyID)_1_0", "rs_\(replyID)_2", "msg_\(replyID)_2",
            ])
        let tool = try #require((output[0]["tools"] as? [[String: Any]])?.first)
        #expect(output[0]["server_label"] as? String == "docs" && tool["name"] as? String == "add")
        #expect(
            tool["description"] as? String == "Adds" && tool["input_schema"] as? [String: String] == ["type": "object"])
        #expect(output[3]["name"] as? String == "add" && output[3]["server_label"] as? String == "docs")
        #expect(output[3]["arguments"] as? String == #"{"a":"Å"}"# && output[3]["output"] as? String == "1")
        #expect(output[3]["status"] as? String == "completed" && output[3]["error"] is NSNull)
        #expect(output[4]["status"] as? String == "failed" && output[4]["output"] is NSNull)
        let error = try #require(output[4]["error"] as? [String: Any])
        #expect(error["type"] as? String == "mcp_tool_execution_error")
        #expect((error["content"] as? [[String: String]])?.first?["text"] == "Error: 2")
    }

    @Test func responseInOnePieceHasTheSameItems() throws {
        var context = context()
        context.servers = Self.servers
        var known = KnownSteps()
        let steps = known.take(try Self.rounds()[5])
        func buffer(_ text: String) -> ByteBuffer {
            var buffer = ByteBuffer()
            buffer.append(utf8: text)
            return buffer
        }
        let answer = WholeAnswer(
            text: buffer("Grüße, 🐣 done."), thinking: buffer("I think.So."), toolCalls: ByteBuffer(),
            lastLine: Array(last().utf8), steps: steps)
        let whole = text { OpenResponses().append(answer, context, to: &$0) }
        let output = try #require(try Self.object(whole)["output"] as? [[String: Any]])
        #expect(output as NSArray == (try Self.output(try Self.live().events.last)) as NSArray)
        var page = ReplyPage(
            start: ReplyPosition(), text: Array("Grüße, ".utf8), thinking: Array("I think.".utf8))
        page.steps = ReplySteps(stored: try Self.rounds()[2].member, version: "1")
        let part = try Self.object(text { ResponseDocument(context).append(page, to: &$0) })
        let items = try #require(part["output"] as? [[String: Any]])
        #expect(items.map { $0["status"] as? String } == [nil, nil, "completed", "in_progress", "failed"])
    }

    /// As `ResponseEventTests` has it for answers without tools of the server.
    @Test func streamThatIsCutAnywhereContinuesWithTheRest() throws {
        let all = try Self.live()
        let expected = try Self.joined(all.events)
        #expect(try Self.joined(try Self.stored().events) == expected)
        #expect(try Self.joined(try Self.followed().events) == expected)
        let bytes = Array(all.text.utf8)
        let ends = [0] + (2...bytes.count).filter { bytes[$0 - 2] == 10 && bytes[$0 - 1] == 10 }
        #expect(ends.count > 40)
        for end in ends {
            let received = ResponseTranscript.events(in: String(decoding: bytes[..<end], as: UTF8.self))
            let number = received.last.map(ResponseTranscript.number)
            for rest in [
                try Self.live(after: number), try Self.stored(after: number), try Self.followed(after: number),
            ] {
                #expect(try Self.joined(received + rest.events) == expected, "after \(number ?? -1)")
            }
        }
    }

    @Test func callWaitsForTheEndOfTheOneBefore() throws {
        let steps = try Self.rounds()
        let events = try ResponseTranscript(
            [token(#""content":"Grüße, ""#), token(#""content":"""#), last()], servers: Self.servers,
            steps: [1: steps[2]]
        ).events
        // The stream ends while the first call runs, which is a failure then; the second one has ended before.
        let tail = try Self.names(events).suffix(13)
        #expect(Array(tail) == Self.call(ending: "failed") + Self.call(ending: "failed") + ["completed"])
        #expect(try Self.output(events.last).last?["status"] as? String == "failed")
    }

    @Test func callOfAToolOfNoNamedServerIsNoItem() throws {
        let steps = Self.steps(Self.round("a", try Self.call("{}", .failed, "Error: no", isNamed: false)))
        let lines = [token(#""content":"ab""#), last()]
        let events = try ResponseTranscript(lines, servers: Self.servers, steps: [0: steps]).events
        #expect(try Self.output(events.last).map { $0["type"] as? String } == ["mcp_list_tools", "message", "message"])
        // A request that names no server has one message.
        let other = try ResponseTranscript(lines, steps: [0: try Self.rounds()[5]]).events
        #expect(try Self.output(other.last).map { $0["type"] as? String } == ["message"])
    }

    @Test func callsOfTheClientFollowThoseOfTheServer() throws {
        let steps = Self.steps(Self.round("", try Self.call("{}", .done, "1")))
        let call = #""tool_calls":[{"id":"c","function":{"name":"f","arguments":{}}}]"#
        let events = try ResponseTranscript(
            [token(#""content":"",\#(call)"#), last()], servers: Self.servers, steps: [0: steps]
        ).events
        let items = try Self.output(events.last)
        #expect(items.map { $0["type"] as? String } == ["mcp_list_tools", "mcp_call", "function_call"])
        let places = try events.compactMap { try Self.object($0)["output_index"] as? Int }
        #expect(places == places.sorted() && places.last == 2)
    }

    @Test func numbersOfTheLongestAnswerFollowEachOther() {
        var numbers = ResponseEventNumber(servers: ToolTable.maximumTools)
        let longest = 256 << 20
        for round in 0..<64 {
            #expect(numbers.reasoning(to: numbers.maximumReasoning) < numbers.reasoningDone)
            #expect(numbers.reasoningDone + 2 < numbers.messageAdded)
            let last = numbers.serverCall(64, after: round == 0 ? longest : 0)
            numbers.endRound(text: round == 0 ? longest : 0, calls: 64)
            #expect(last <= numbers.reasoningAdded)
        }
        #expect(numbers.text(to: 0) < numbers.textDone(after: nil))
        #expect(numbers.textDone(after: nil) + 2 < ResponseEventNumber.call(0))
    }

    // MARK: - Input

    private static func request(_ members: String) throws -> DoorRequest {
        try OpenResponses().request(Array(#"{"model":"m",\#(members)}"#.utf8))
    }

    private static let items = #"""
        {"role":"user","content":"Hi"},{"type":"mcp_list_tools","id":"l","server_label":"docs","tools":[]},
        {"type":"reasoning","id":"r","summary":[],"content":[{"type":"reasoning_text","text":"I think."}]},
        {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Grüße, ","annotations":[]}]},
        {"type":"mcp_call","id":"mcp_x_0_0","server_label":"docs","name":"add","arguments":"{\"a\":\"Å\"}","output":"1","error":null,
        "status":"completed","approval_request_id":null},
        {"type":"mcp_call","id":"mcp_x_0_1","server_label":"docs","name":"add","arguments":"{}","output":null,
        "error":{"type":"mcp_tool_execution_error","content":[{"type":"text","text":"Error: 2"}]}},
        {"type":"reasoning","id":"r2","summary":[],"content":[{"type":"reasoning_text","text":"Hm."}]},
        {"type":"mcp_call","id":"mcp_x_1_0","server_label":"docs","name":"add","arguments":"{}","output":"3"},
        {"type":"message","role":"assistant","content":"done."},{"role":"user","content":"And?"}
        """#

    @Test func callsInTheInputAreStepsOfOneAnswer() throws {
        let request = try Self.request(#""input":[\#(Self.items)]"#)
        #expect(request.chat.messages.map(\.role) == ["user", "assistant", "user"])
        #expect(request.chat.messages[1].content == "Grüße, done." && request.ignored.paths.isEmpty)
        let extras = Array((request.chat.messages[1].extras ?? "").utf8)
        let found = AnswerSteps(in: extras.span)
        let steps = try #require(found)
        #expect(steps.rounds.map(\.calls.count) == [2, 1])
        #expect(steps.rounds.map { String(decoding: $0.text, as: UTF8.self) } == ["Grüße, ", ""])
        #expect(steps.rounds.map { String(decoding: $0.thinking, as: UTF8.self) } == ["I think.", "Hm."])
        let calls = steps.rounds.flatMap(\.calls)
        #expect(calls.map(\.name) == Array(repeating: "docs_add", count: 3))
        #expect(calls.map { String(decoding: $0.result, as: UTF8.self) } == ["1", "Error: 2", "3"])
        #expect(calls.map(\.state) == [.done, .failed, .done])
        #expect(calls[0].origin == ToolOrigin(label: "docs", name: "add"))
        // It is the answer that is stored with its own steps.
        let stored = ModelMessage(
            role: "assistant", content: "Grüße, done.",
            extras: String(decoding: try Self.rounds()[5].member, as: UTF8.self))
        #expect(HistoryDigest(of: request.chat.messages[1]) == HistoryDigest(of: stored))
    }

    @Test func modelGetsCallsOfTheInputBeforeTheirResults() throws {
        var history = EncodedConversation()
        for message in try Self.request(#""input":[\#(Self.items)]"#).chat.messages { history.append(message) }
        let messages = try #require(JSONSlice(Array("[\(history.json.string)]".utf8)).elements(first: .max))
        #expect(
            messages.map { "\($0.last("role", .string)?.string ?? "") \($0.last("content", .string)?.string ?? "")" }
                == [
                    "user Hi", "assistant Grüße, ", "tool 1", "tool Error: 2", "assistant ", "tool 3",
                    "assistant done.",
                    "user And?",
                ])
    }

    @Test func callsOfOneRequestToTheModelStayTogether() throws {
        func rounds(_ ids: [String]) throws -> [Int] {
            let calls = ids.map {
                #"{"type":"mcp_call","id":"\#($0)","server_label":"s","name":"a","arguments":"{}","output":"1"}"#
            }
            let messages = try Self.request(#""input":[\#(calls.joined(separator: ","))]"#).chat.messages
            return AnswerSteps(in: Array((messages[0].extras ?? "").utf8).span)?.rounds.map(\.calls.count) ?? []
        }
        #expect(try rounds(["mcp_\(replyID)_0_0", "mcp_\(replyID)_0_1", "mcp_\(replyID)_1_0"]) == [2, 1])
        #expect(try rounds(["mcp_68a6", "mcp_68a7", "mcp_68a8"]) == [3])
        #expect(try rounds(["", "x"]) == [2])
    }

    @Test(arguments: [
        (#"{"type":"mcp_call","name":"a","arguments":"{}"}"#, "input[0].server_label"),
        (#"{"type":"mcp_call","server_label":"s","arguments":"{}"}"#, "input[0].name"),
        (#"{"type":"mcp_call","server_label":"s","name":"a","arguments":7}"#, "input[0].arguments"),
        (#"{"type":"mcp_call","server_label":"s","name":"a","arguments":"{}","output":7}"#, "input[0].output"),
        (#"{"type":"mcp_approval_response","approval_request_id":"x"}"#, "input[0].approve"),
        (#"{"type":"mcp_approval_response","approve":true}"#, "input[0].approval_request_id"),
        (#"{"type":"mcp_approval_request","server_label":"s","name":"a","arguments":"{}"}"#, "input[0].id"),
        (#"{"type":"mcp_list_tools"}"#, "input"),
    ])
    func otherItemsAreRefused(_ item: String, _ parameter: String) throws {
        let fault = #expect(throws: RelayError.self) { _ = try Self.request(#""input":[\#(item)]"#) }
        #expect(fault?.parameter == parameter, "\(String(describing: fault))")
    }

    @Test func errorOfACallInTheInputMayHaveAnyForm() throws {
        func result(_ member: String) throws -> String {
            let call = #"{"type":"mcp_call","server_label":"my docs!","name":"a.b","arguments":"x"\#(member)}"#
            let messages = try Self.request(#""input":[\#(call)]"#).chat.messages
            let found = AnswerSteps(in: Array((messages[0].extras ?? "").utf8).span)
            let made = try #require(found?.rounds.first?.calls.first)
            #expect(made.name == "my_docs__a_b")
            return "\(made.state) \(String(decoding: made.result, as: UTF8.self))"
        }
        #expect(try result(#","error":"no""#) == "failed no")
        #expect(try result(#","error":{"type":"http_error","code":500,"message":"bad"}"#) == "failed bad")
        #expect(try result(#","error":{"x":1}"#) == #"failed {"x":1}"#)
        #expect(try result("") == "unknown The outcome of this call is unknown.")
        #expect(try result(#","output":"","error":null"#) == "done ")
    }

    // MARK: - Approvals

    @Test func callThatTheClientApprovesFirstIsAnItemAtTheEnd() throws {
        let servers = Self.servers(isAsked: true)
        let calls =
            #"{"id":"c","function":{"name":"docs_add","arguments":{"a":1}}},{"function":{"name":"f","arguments":{}}}"#
        let lines = [token(#""content":"Look.","tool_calls":[\#(calls)]"#), last()]
        let events = try ResponseTranscript(lines, servers: servers).events
        let items = try Self.output(events.last)
        #expect(
            items.map { $0["type"] as? String } == [
                "mcp_list_tools", "message", "mcp_approval_request", "function_call",
            ])
        #expect(items[2]["id"] as? String == "mcpr_\(replyID)_0" && items[3]["id"] as? String == "fc_\(replyID)_1")
        #expect(items[2]["server_label"] as? String == "docs" && items[2]["name"] as? String == "add")
        #expect(items[2]["arguments"] as? String == #"{"a":1}"#)
        let places = try events.compactMap { try Self.object($0)["output_index"] as? Int }
        #expect(places == places.sorted() && places.last == 3)
        #expect(
            try Self.names(events).suffix(7) == [
                "output_item.added", "output_item.done", "output_item.added", "function_call_arguments.delta",
                "function_call_arguments.done", "output_item.done", "completed",
            ])
        let done = try events.map(Self.object).filter { $0["type"] as? String == "response.output_item.done" }
        #expect(try done.map { try #require($0["item"] as? [String: Any]) } as NSArray == items as NSArray)
    }

    private static let asked =
        #"{"type":"mcp_approval_request","id":"mcpr_x_0","server_label":"docs","name":"add","arguments":"{\"a\":1}"}"#

    private static func answer(_ approve: Bool, id: String = "mcpr_x_0", _ more: String = "") -> String {
        #"{"type":"mcp_approval_response","approval_request_id":"\#(id)","approve":\#(approve)\#(more)}"#
    }

    @Test func answerToACallIsItsResult() throws {
        func messages(_ items: String) throws -> (texts: [String], approved: [String]) {
            let request = try Self.request(#""input":[{"role":"user","content":"Hi"},\#(items)]"#)
            return (
                request.chat.messages.map { "\($0.role) \($0.content)" },
                request.approved.map { "\($0.id) \(String(decoding: $0.json ?? [], as: UTF8.self))" }
            )
        }
        let json = #"{"id":"mcpr_x_0","function":{"name":"docs_add","arguments":{"a":1}}}"#
        var found = try messages("\(Self.asked),\(Self.answer(true))")
        #expect(found.texts == ["user Hi", "assistant ", "tool \(ApprovedCall.approval)"])
        #expect(found.approved == ["mcpr_x_0 \(json)"])
        found = try messages("\(Self.asked),\(Self.answer(false, #","reason":"no""#))")
        #expect(found.texts.last == "tool \(ApprovedCall.refusal) The reason is: no" && found.approved.isEmpty)
        // The user may say more, but what the model said after an approval is its effect.
        let user = #"{"role":"user","content":"Now"}"#
        found = try messages("\(Self.asked),\(Self.answer(true)),\(user)")
        #expect(found.approved.count == 1)
        let call = #"{"type":"mcp_call","server_label":"docs","name":"add","arguments":"{}","output":"1"}"#
        for item in [call, #"{"role":"assistant","content":"Done"}"#, #"{"type":"reasoning","summary":[]}"#] {
            found = try messages("\(Self.asked),\(Self.answer(true)),\(item),\(user)")
            #expect(found.approved.isEmpty)
        }
    }

    @Test func answerFindsTheCallOfTheReplyBefore() throws {
        let id = try #require(ReplyID(parsing: replyID))
        let item = "mcpr_\(replyID)_1"
        var request = try Self.request(#""input":[\#(Self.answer(true, id: item))]"#)
        #expect(request.hasApprovals && request.hasNamelessResults)
        #expect(throws: RelayError.self) { try request.approveCalls() }
        let calls =
            #"{"id":"c0","function":{"name":"f"}},{"id":"c1","function":{"name":"docs_add","arguments":"{\"a\":1}"}}"#
        request.nameResults(by: Array(calls.utf8), of: id)
        #expect(request.chat.messages[0].extras == #""tool_name":"docs_add","tool_call_id":"c1""#)
        let json = #"{"id":"\#(item)","function":{"name":"docs_add","arguments":{"a":1}}}"#
        #expect(request.approved.map { String(decoding: $0.json ?? [], as: UTF8.self) } == [json])
        // The request must name the server, too.
        let fault = #expect(throws: RelayError.self) { try request.approveCalls() }
        #expect(fault?.parameter == "tools")
        request.chat.offer([("docs", [Self.add], { _ in true })])
        try request.approveCalls()
        #expect(request.chat.passThrough.approvedCalls.map(\.name) == ["docs_add"])
        #expect(request.chat.passThrough.withoutKept.map(\.key) == ["tools"])
    }

    @Test func callNamesTheItemThatAskedForIt() throws {
        var call = try #require(
            AnswerSteps.Call(JSONSlice(ApprovedCall.json("mcpr_x_0", name: "docs_add", arguments: Array("{}".utf8)))))
        call.end(.done, Array("1".utf8))
        call.origin = ToolOrigin(label: "docs", name: "add")
        let events = try ResponseTranscript(
            [token(#""content":"Done""#), last()], servers: Self.servers, steps: [0: Self.steps(Self.round("", call))]
        ).events
        #expect(try Self.output(events.last)[1]["approval_request_id"] as? String == "mcpr_x_0")
    }

    // MARK: - The limit of calls

    @Test func limitOfCallsIsKeptAndRepeated() throws {
        var asked = try Self.request(#""input":"Hi","max_tool_calls":3"#)
        let kept = asked.keep(createdAt: 7)
        #expect(String(decoding: try #require(kept), as: UTF8.self).contains(#""max_tool_calls":3,"#))
        #expect(asked.chat.passThrough.maximumToolCalls == 3 && asked.ignored.paths.isEmpty)
        var other = try Self.request(#""input":"Hi","max_tool_calls":null"#)
        _ = other.keep(createdAt: 7)
        #expect(other.chat.passThrough.maximumToolCalls == nil)
        for value in ["0", "-1", "1.5", #""2""#] {
            let fault = #expect(throws: RelayError.self) {
                _ = try Self.request(#""input":"Hi","max_tool_calls":\#(value)"#)
            }
            #expect(fault?.parameter == "max_tool_calls")
        }
    }

    // MARK: - Items of conversations

    private static func row(_ kind: ConversationRow.Kind, _ steps: AnswerSteps, _ content: String) -> ConversationRow {
        ConversationRow(
            seq: 2, kind: kind, time: 0, role: Array("assistant".utf8), content: Array(content.utf8),
            extras: steps.member, id: ReplyID(parsing: replyID))
    }

    private static func ids(_ list: ItemList) throws -> [String] {
        let json = text { list.append(to: &$0) }
        let data = try #require(try object(json)["data"] as? [[String: Any]])
        return data.map { "\($0["type"] as? String ?? "") \($0["id"] as? String ?? "")" }
    }

    @Test func itemsOfAConversationHaveTheCallsOfItsResponses() throws {
        var request = ChatRequest(appID: "a", model: "m", messages: [])
        request.offer([("docs", [Self.add], { _ in false })])
        var options = ByteBuffer()
        options.append(request.passThrough)
        let id = try #require(ReplyID(parsing: replyID))
        let reply = ConversationRow.Reply(id: id, model: "m", state: .complete, options: options.array)
        let steps = Self.steps(Self.round("Look: ", try Self.call("{}", .done, "1")))
        #expect(
            try Self.ids(ItemList([Self.row(.reply(reply), steps, "Look: done")])) == [
                "mcp_list_tools mcpl_\(replyID)_0", "message msg_\(replyID)", "mcp_call mcp_\(replyID)_0_0",
                "message msg_\(replyID)_1",
            ])
    }

    @Test func lastItemOfAnAddedAnswerIsRemoved() throws {
        let steps = Self.steps(Self.round("Look: ", try Self.call("{}", .done, "1"), try Self.call("{}", .done, "2")))
        var row = Self.row(.message, steps, "Look: done")
        var removed: [String] = []
        while let last = ItemList.Last(of: row) {
            removed.append(last.id)
            guard let rest = last.rest else { break }
            #expect(try Self.ids(ItemList([rest])).count == (try Self.ids(ItemList([row])).count) - 1)
            row = rest
        }
        #expect(
            removed == ["msg_\(replyID)_1", "mcp_\(replyID)_0_1", "mcp_\(replyID)_0_0", "msg_\(replyID)"])
    }
}
