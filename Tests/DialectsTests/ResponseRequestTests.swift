import ChatterdChat
import ChatterdRelay
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdDialects

/// Requests for responses, and responses that are not streamed.
struct ResponseRequestTests {
    private func translated(_ members: String) throws(RelayError) -> [String] {
        try summary("{\"model\":\"m\",\(members)}", by: OpenResponses())
    }

    private func request(_ members: String) throws(RelayError) -> DoorRequest {
        try OpenResponses().request(Array("{\"model\":\"m\",\"input\":\"Hi\",\(members)}".utf8))
    }

    @Test func textIsAMessageOfTheUser() throws {
        #expect(try translated(#""input":"Hi""#) == ["user: Hi"])
    }

    @Test func itemsOfTheModelAreOneMessage() throws {
        let items = #"""
            "input":[{"role":"developer","content":"Be brief."},
            {"type":"message","role":"user","content":[{"type":"input_text","text":"What "},{"type":"input_text","text":"now?"},
             {"type":"input_image","image_url":"data:image/png;base64,AAAA","detail":"auto"}]},
            {"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]},
            {"type":"message","id":"msg_1","status":"completed","role":"assistant",
             "content":[{"type":"output_text","text":"Wait.","annotations":[],"logprobs":[]}]},
            {"type":"function_call","id":"fc_1","call_id":"c1","name":"weather","arguments":"{\"city\":\"Oslo\"}","status":"completed"},
            {"type":"function_call","call_id":"c2","name":"time","arguments":""},
            {"type":"function_call_output","call_id":"c1","output":"rain"},
            {"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"noon"}]},
            {"type":"message","role":"assistant","content":"Rain."},{"type":"message","role":"assistant","content":"More."}]
            """#
        #expect(
            try translated(items) == [
                "system: Be brief.", #"user: What \#nnow? {"images":["AAAA"]}"#,
                #"assistant: Wait. {"thinking":"hm","tool_calls":[{"id":"c1","function":{"name":"weather","arguments":{"city":"Oslo"}}},{"id":"c2","function":{"name":"time","arguments":{}}}]}"#,
                #"tool: rain {"tool_name":"weather","tool_call_id":"c1"}"#,
                #"tool: noon {"tool_name":"time","tool_call_id":"c2"}"#, "assistant: Rain.", "assistant: More.",
            ])
    }

    @Test func toolsHaveTheFormOfChatCompletions() throws {
        let tools =
            #""input":"Hi","tools":[{"type":"function","name":"f","description":"d","parameters":{"type":"object"},"strict":true},{"type":"function","name":"g"}]"#
        let f =
            #"{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"},"strict":true}}"#
        let g = #"{"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{}}}}"#
        #expect(try translated(tools) == ["user: Hi", "tools=[\(f),\(g)]"])
        #expect(try translated(tools + #","tool_choice":"none""#) == ["user: Hi"])
        #expect(
            try translated(tools + #","tool_choice":{"type":"function","name":"f"}"#) == [
                "user: Hi", "tools=[\(f),\(g)]", #"tool_choice={"type":"function","function":{"name":"f"}}"#,
            ])
        let allowed =
            #","tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"g"}]}"#
        #expect(try translated(tools + allowed) == ["user: Hi", "tools=[\(g)]", #"tool_choice="required""#])
        let hosted = allowed.replacing("[{", with: #"[{"type":"image_generation"},{"#)
        #expect(try translated(tools + hosted) == ["user: Hi", "tools=[\(g)]", #"tool_choice="required""#])
    }

    @Test func formatReachesEveryKindOfServer() throws {
        let format =
            #""input":"Hi","text":{"format":{"type":"json_schema","name":"n","schema":{"a":1},"strict":true},"verbosity":"low"}"#
        #expect(
            try translated(format) == [
                "user: Hi", #"format={"a":1}"#,
                #"response_format={"type":"json_schema","json_schema":{"name":"n","schema":{"a":1},"strict":true}}"#,
                #"verbosity="low""#,
            ])
        #expect(
            try translated(#""input":"Hi","reasoning":{"effort":"none"}"#).dropFirst() == [
                "think=false", #"reasoning_effort="none""#,
            ])
    }

    @Test func responseContinuesWhatTheRequestNames() throws {
        let id = try #require(ReplyID(parsing: replyID))
        #expect(try request(#""previous_response_id":"resp_\#(replyID)""#).continuation == .reply(id))
        #expect(try request(#""previous_response_id":"\#(replyID)""#).continuation == .reply(id))
        #expect(try request(#""conversation":"trip""#).continuation == .conversation("trip"))
        #expect(try request(#""conversation":{"id":"trip"}"#).continuation == .conversation("trip"))
        #expect(try request(#""store":false"#).isRemembered == false)
        #expect(try request(#""background":true"#).isBackground)
    }

    @Test func serverOfToolsIsNamed() throws {
        let tool = #"{"type":"mcp","server_label":"s","require_approval":"never""#
        let servers = try request(
            #""tools":[\#(tool)},\#(tool),"allowed_tools":{"tool_names":["a"]}},"#
                + #"\#(tool),"server_url":"https://s/","allowed_tools":["b","c"],"headers":{"A":"b"}}]"#)
        #expect(servers.toolServers.map(\.label) == ["s", "s", "s"])
        #expect(servers.toolServers.map(\.tools) == [nil, ["a"], ["b", "c"]])
        #expect(servers.toolServers.map(\.url) == [nil, nil, "https://s/"])
        #expect(servers.ignored.paths == ["tools[].headers"])
        #expect(try request(#""tools":[\#(tool)}],"tool_choice":"none""#).toolServers.isEmpty)
        let function = #"{"type":"function","name":"f"}"#
        let other = tool.replacing(#""s""#, with: #""t""#)
        func permitted(by allowed: String) throws -> [String] {
            let choice = #"{"type":"allowed_tools","mode":"auto","tools":[\#(allowed)]}"#
            let asked = try request(#""tools":[\#(function),\#(tool)},\#(other)}],"tool_choice":\#(choice)"#)
            return asked.toolServers.map { "\($0.label) \($0.tools ?? [])" }
        }
        #expect(try permitted(by: function) == [])
        #expect(try permitted(by: #"{"type":"mcp","server_label":"t"}"#) == ["t []"])
        #expect(try permitted(by: #"{"type":"mcp","server_label":"s","name":"a"}"#) == [#"s ["a"]"#])
    }

    @Test(arguments: [
        ("", [true, true]), (#","require_approval":"always""#, [true, true]),
        (#","require_approval":"never""#, [false, false]),
        (#","require_approval":{"never":{"tool_names":["a"]}}"#, [false, true]),
        (#","require_approval":{"never":{"tool_names":["a","b"]},"always":{"tool_names":["b"]}}"#, [false, true]),
        (#","require_approval":{}"#, [true, true]),
    ])
    func clientSaysBeforeWhichCallsItIsAsked(_ member: String, _ expected: [Bool]) throws {
        let asked = try request(#""tools":[{"type":"mcp","server_label":"s"\#(member)}]"#)
        let server = try #require(asked.toolServers.first)
        #expect(["a", "b"].map { server.isAsked($0) } == expected)
    }

    @Test(arguments: [
        (#""input":[]"#, "input"), (#""input":7"#, "input"), (#""tools":[]"#, "input"),
        (#""input":[{"type":"item_reference","id":"x"}]"#, "input[0].type"),
        (#""input":[{"type":"computer_call"}]"#, "input[0].type"),
        (#""input":[{"type":"web_search_call","id":"w"}]"#, "input"),
        (#""input":[{"role":"tool","content":"a"}]"#, "input[0].role"),
        (#""input":[{"role":"user","content":[{"type":"input_file","file_id":"f"}]}]"#, "input[0].content[0].type"),
        (#""input":[{"role":"user","content":[{"type":"input_image","file_id":"f"}]}]"#, "input[0].content[0].file_id"),
        (#""input":"a","tools":[{"type":"web_search"}],"tool_choice":"required""#, "tool_choice"),
        (
            #""input":"a","tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"function","name":"g"}"#,
            "tool_choice.name"
        ),
        (#""input":"a","tools":[{"type":"web_search"}],"tool_choice":{"type":"web_search"}"#, "tool_choice.type"),
        (#""input":"a","tools":[{"type":"mcp","require_approval":"never"}]"#, "tools[0].server_label"),
        (
            #""input":"a","tools":[{"type":"mcp","server_label":"s","require_approval":"no"}]"#,
            "tools[0].require_approval"
        ),
        (#""input":"a","tools":[{"type":"mcp","server_label":"s","require_approval":7}]"#, "tools[0].require_approval"),
        (
            #""input":"a","tools":[{"type":"mcp","server_label":"s","require_approval":{"never":{"read_only":true}}}]"#,
            "tools[0].require_approval.never"
        ),
        (
            #""input":"a","tools":[{"type":"mcp","server_label":"s","require_approval":{"always":{"tool_names":[7]}}}]"#,
            "tools[0].require_approval.always.tool_names"
        ),
        (
            #""input":"a","tools":[{"type":"mcp","server_label":"s","require_approval":"never","allowed_tools":7}]"#,
            "tools[0].allowed_tools"
        ),
        (#""input":"a","include":["message.output_text.logprobs"]"#, "include[0]"),
        (#""input":"a","store":false,"background":true"#, "background"),
        (#""input":"a","store":false,"conversation":"c""#, "conversation"),
        (#""input":"a","previous_response_id":"x""#, "previous_response_id"),
        (#""input":"a","conversation":"c","previous_response_id":"x""#, "previous_response_id"),
        (#""input":"a","metadata":{"a":1}"#, "metadata.a"), (#""input":"a","chatterd":{}"#, "chatterd"),
        (#""input":"a","truncation":"middle""#, "truncation"),
    ])
    func unsupportedMembersAreRefused(_ members: String, _ parameter: String) throws {
        let fault = #expect(throws: RelayError.self) { _ = try translated(members) }
        #expect(fault?.parameter == parameter, "\(String(describing: fault))")
    }

    @Test func instructionsAreKeptAndNoMessage() throws {
        var asked = try request(#""instructions":"Be \"brief\".","metadata":{"a":"b"}"#)
        let object = asked.keep(createdAt: 7)
        let kept = try #require(object)
        #expect(asked.chat.messages.map(\.content) == ["Hi"])
        #expect(asked.chat.passThrough.instructions == "Be \"brief\"." && asked.chat.passThrough.withoutKept.isEmpty)
        #expect(String(decoding: kept, as: UTF8.self).contains(#""created_at":7"#))
    }

    @Test func metadataIsRepeatedAsItWasChecked() throws {
        let long = String(repeating: "x", count: 513)
        var asked = try request(##""metadata":{"a":"\##(long)","b":null,"a":"c","\u0064":"e"}"##)
        let object = asked.keep(createdAt: 7)
        let kept = try #require(object)
        #expect(String(decoding: kept, as: UTF8.self).contains(#""metadata":{"a":"c","d":"e"}"#))
        let name = String(repeating: "n", count: 400)
        #expect(throws: RelayError.self) { _ = try request(#""metadata":{"\#(name)":"c","\#(name)x":"d"}"#) }
    }

    @Test func wholeResponseMatchesTheSpecification() throws {
        let schemas = try SpecificationSchemas.openResponses()
        let calls = #"{"function":{"name":"f","arguments":{"a":1}}}"#
        for json in [
            encodeWhole("Hi", thinking: "hm", calls: calls, last: last(), by: OpenResponses()),
            encodeWhole("", last: last(reason: "length"), by: OpenResponses()),
        ] {
            #expect(
                schemas.problems(of: json, as: "ResponseResource").isEmpty,
                "\(schemas.problems(of: json, as: "ResponseResource"))")
        }
    }

    @Test func lastItemOfAMessageIsTakenOff() throws {
        func call(_ id: String) -> String { #"{"id":"\#(id)","function":{"name":"f","arguments":{"a":[1]}}}"# }
        let extras = #""thinking":"hm","tool_calls":[\#(call("a")),\#(call("b"))],"images":["iVBO"],"name":"n""#
        var row: ConversationRow? = ConversationRow(
            seq: 3, kind: .message, time: 0, role: Array("assistant".utf8), content: Array("Wait".utf8),
            extras: Array(extras.utf8))
        var ids: [String] = []
        var rests: [String] = []
        while let present = row, ids.count < 9 {
            let last = try #require(ItemList.Last(of: present))
            ids.append(last.id)
            row = last.rest
            if let row { rests.append(String(decoding: row.content + row.extras, as: UTF8.self)) }
        }
        #expect(ids == ["fc_3_1", "fc_3_0", "msg_3", "rs_3"])
        #expect(
            rests == [
                #"Wait"thinking":"hm","tool_calls":[\#(call("a"))],"images":["iVBO"],"name":"n""#,
                #"Wait"thinking":"hm","images":["iVBO"],"name":"n""#, #""thinking":"hm","name":"n""#,
            ])
    }

    @Test func storedMessagesAreItemsOfTheSpecification() throws {
        let schemas = try SpecificationSchemas.openResponses()
        var rows: [ConversationRow] = []
        func row(_ seq: Int64, _ role: String, _ text: String, thinking: String = "", extras: String = "") {
            rows.append(
                ConversationRow(
                    seq: seq, kind: .message, time: 0, role: Array(role.utf8), content: Array(text.utf8),
                    thinking: Array(thinking.utf8), extras: Array(extras.utf8)))
        }
        row(1, "system", "Be brief.")
        row(2, "user", "Look", extras: #""images":["iVBO","https://a.example/b.png"]"#)
        row(
            3, "assistant", "Wait", thinking: "hm",
            extras: #""tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]"#)
        row(4, "tool", "done", extras: #""tool_name":"f","tool_call_id":"c""#)
        let items = ItemList(rows)
        func list(_ page: ItemList.Page) throws -> [String: Any] {
            var isFound = false
            let json = text { isFound = items.append(page, to: &$0) }
            guard isFound else { throw TestFailure("no such item") }
            return try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        }
        var page = ItemList.Page()
        page.isAscending = true
        let all = try #require(try list(page)["data"] as? [[String: Any]])
        #expect(all.map { $0["id"] as? String } == ["msg_1", "msg_2", "rs_3", "msg_3", "fc_3_0", "fco_4"])
        for item in all {
            let json = String(decoding: try JSONSerialization.data(withJSONObject: item), as: UTF8.self)
            #expect(schemas.problems(of: json, as: "ItemField").isEmpty, "\(json)")
        }
        page = ItemList.Page()
        page.limit = 4
        let last = try list(page)
        #expect(last["has_more"] as? Bool == true && last["last_id"] as? String == "rs_3")
        page.after = "rs_3"
        let first = try list(page)
        #expect((first["data"] as? [Any])?.count == 2 && first["has_more"] as? Bool == false)
        page.after = "msg_9"
        #expect(throws: (any Error).self) { try list(page) }
    }
}
