import ChatterdBasics
import ChatterdChat
import ChatterdRelay
import Foundation
import Testing

@testable import ChatterdDialects

/// Tools of namespaces, as Codex sends those of MCP servers.
struct ToolTableTests {
    private static let search = #"{"type":"function","name":"search","description":"d","strict":false}"#
    private static let tools =
        #""tools":[{"type":"namespace","name":"mcp__git","description":"n","tools":[\#(search),"#
        + #"{"type":"custom","name":"patch"}]},{"type":"function","name":"f"}]"#

    private func request(_ members: String) throws(RelayError) -> DoorRequest {
        try OpenResponses().request(Array("{\"model\":\"m\",\"input\":\"Hi\",\(members)}".utf8))
    }

    /// The names of the tools that a model gets.
    private func names(_ members: String) throws -> [String] {
        let tools = try request(members).chat.passThrough.last { $0.key == "tools" }
        return try #require(tools.flatMap { try? JSONSlice($0.value) }?.elements()).compactMap {
            $0.members()?["function"]?.members()?["name"]?.string
        }
    }

    private func namespace(_ name: String, _ functions: [String]) -> String {
        let tools = functions.map { #"{"type":"function","name":"\#($0)"}"# }
        return #"{"type":"namespace","name":"\#(name)","tools":[\#(tools.joined(separator: ","))]}"#
    }

    private func object(_ json: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    }

    @Test(arguments: [
        ("mcp__git", "search", "mcp__git__search"), ("mcp__git__", "search", "mcp__git__search"),
        ("n", "_a", "n___a"), ("___", "a", "__a"), ("", "a", "a"),
    ])
    func namesAreJoined(_ namespace: String, _ name: String, _ called: String) {
        #expect(ToolTable.called(name, of: namespace) == called)
        #expect(ToolTable.called(name, of: nil) == name)
    }

    @Test func nameThatNoFunctionCanHaveIsCutAndStaysUnique() {
        let long = String(repeating: "x", count: 60)
        let names = ["\(long)a", "\(long)b", "ä", "a b", "a.b", String(repeating: "e\u{301}", count: 50_000)]
        let called = names.map { ToolTable.called($0, of: "mcp") }
        #expect(Set(called).count == names.count)
        for name in called {
            #expect(name.utf8.count <= ToolTable.maximumName && name.hasPrefix("mcp__"))
            #expect(name.utf8.allSatisfy { $0 < 0x80 && $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: " ") })
        }
        #expect(ToolTable.called(names[0], of: "mcp") == called[0])
        let full = String(repeating: "x", count: ToolTable.maximumName - 5)
        #expect(ToolTable.called(full, of: "mcp") == "mcp__" + full)
    }

    @Test func modelGetsTheToolsOfNamespacesAsFunctions() throws {
        #expect(try names(Self.tools) == ["mcp__git__search", "mcp__git__patch", "f"])
        var asked = try request(Self.tools)
        let object = asked.keep(createdAt: 0)
        let kept = String(decoding: try #require(object), as: UTF8.self)
        #expect(kept.contains(#"{"type":"namespace","name":"mcp__git","description":"n","tools":[{"type":"function","#))
        #expect(asked.ignored.paths.isEmpty)
        let table = ToolTable(keptIn: object)
        #expect(table.tool(called: "mcp__git__search")?.name == "search")
        #expect(table.tool(called: "mcp__git__patch")?.isCustom == true)
        #expect(table.tool(called: "f")?.namespace == nil && table.tool(called: "search") == nil)
    }

    @Test func descriptionOfANamespaceReachesTheModel() throws {
        func descriptions(_ members: String) throws -> [String?] {
            let tools = try request(members).chat.passThrough.last { $0.key == "tools" }
            return try #require(tools.flatMap { try? JSONSlice($0.value) }?.elements()).map {
                $0.members()?["function"]?.members()?["description"]?.string
            }
        }
        #expect(try descriptions(Self.tools) == ["n\n\nd", "n", nil])
        var asked = try request(Self.tools)
        let object = asked.keep(createdAt: 0)
        let kept = String(decoding: try #require(object), as: UTF8.self)
        #expect(kept.contains(#""name":"search","description":"d""#))
        let long = String(repeating: "x", count: 5_000)
        let function = #"{"type":"function","name":"f"}"#
        let tools = #""tools":[{"type":"namespace","name":"n","description":"\#(long)","tools":[\#(function)]}]"#
        #expect(try descriptions(tools) == [String(long.prefix(1_024))])
    }

    /// Newer versions of Codex send their tools as an item.
    @Test func toolsOfTheInputAreToolsOfTheRequest() throws {
        let item = #"{"type":"additional_tools","role":"developer",\#(Self.tools)}"#
        let function = #"{"type":"function","name":"f"}"#
        let more = #"{"type":"additional_tools","tools":[{"type":"custom","name":"exec"},\#(function)]}"#
        let body = #"{"tools":[\#(function)],"input":[\#(item),\#(more),{"role":"user","content":"Hi"}]}"#
        var asked = try OpenResponses().request(Array(body.utf8), .lenient)
        #expect(asked.chat.messages.map(\.content) == ["Hi"])
        #expect(asked.ignored.paths == ["input[].tools[]"])
        let tools = try #require(asked.chat.passThrough.last { $0.key == "tools" })
        let names = try #require(try JSONSlice(tools.value).elements()).map {
            $0.members()?["function"]?.members()?["name"]?.string
        }
        #expect(names == ["f", "mcp__git__search", "mcp__git__patch", "exec"])
        let table = ToolTable(keptIn: asked.keep(createdAt: 0))
        #expect(table.tool(called: "exec")?.isCustom == true)
        #expect(table.tool(called: "mcp__git__search")?.namespace == "mcp__git")
        #expect(throws: RelayError.self) { try OpenResponses().request(Array(body.utf8), .strict) }
        for tools in ["", #","tools":7"#, #","tools":[7]"#, #","tools":[{"type":"function"}]"#] {
            let body = #"{"input":[{"type":"additional_tools"\#(tools)}]}"#
            #expect(throws: RelayError.self) { try OpenResponses().request(Array(body.utf8), .lenient) }
        }
    }

    @Test func choiceNamesAToolOfANamespace() throws {
        let choice = #","tool_choice":{"type":"function","namespace":"mcp__git","name":"search"}"#
        let passed = try request(Self.tools + choice).chat.passThrough.last { $0.key == "tool_choice" }
        #expect(
            passed.map { String(decoding: $0.value, as: UTF8.self) }
                == #"{"type":"function","function":{"name":"mcp__git__search"}}"#)
        func allowed(_ tool: String) throws -> [String] {
            try names(Self.tools + #","tool_choice":{"type":"allowed_tools","tools":[\#(tool)]}"#)
        }
        #expect(try allowed(#"{"type":"namespace","name":"mcp__git"}"#) == ["mcp__git__search", "mcp__git__patch"])
        #expect(try allowed(#"{"type":"custom","namespace":"mcp__git","name":"patch"}"#) == ["mcp__git__patch"])
    }

    @Test func hostileNamespacesAreRefusedOrIgnored() throws {
        func refusal(_ tools: String) -> String? {
            var parameter: String?
            do throws(RelayError) {
                _ = try request(#""tools":[\#(tools)]"#)
            } catch {
                parameter = error.parameter
            }
            return parameter
        }
        let git = namespace("a", ["b__c"])
        #expect(refusal(git + #",{"type":"function","name":"a__b__c"}"#) == "tools[1].name")
        #expect(refusal(#"{"type":"function","name":"a__b__c"},"# + git) == "tools[1].tools[0].name")
        #expect(refusal(git + "," + namespace("a__b", ["c"])) == "tools[1].tools[0].name")
        #expect(refusal(namespace("a", ["b", "b"])) == "tools[0].tools[1].name")
        #expect(refusal(namespace(String(repeating: "x", count: 257), ["b"])) == "tools[0].name")
        #expect(refusal(#"{"type":"namespace","tools":[]}"#) == "tools[0].name")
        #expect(refusal(#"{"type":"namespace","name":"a","tools":{}}"#) == "tools[0].tools")
        #expect(refusal(#"{"type":"namespace","name":"a","tools":[7]}"#) == "tools[0].tools[0]")
        let many = (0..<2).map { namespace("n\($0)", (0..<512 + $0).map { "f\($0)" }) }
        #expect(refusal(many.joined(separator: ",")) == "tools")
        #expect(refusal(many[0] + "," + namespace("n2", (0..<512).map { "f\($0)" })) == nil)
        // Functions outside of namespaces are what they were.
        #expect(refusal(#"{"type":"function","name":"f"},{"type":"function","name":"f"}"#) == nil)
        let nested = try request(#""tools":[{"type":"namespace","name":"a","tools":[\#(git)]},\#(namespace("e", []))]"#)
        #expect(nested.ignored.paths == ["tools[].tools[]"])
        #expect(!nested.chat.passThrough.contains { $0.key == "tools" })
        let marks = String(repeating: "\u{301}", count: 100_000)
        let odd = try request(#""tools":[\#(namespace("n", [marks, marks + "a"]))]"#)
        #expect(odd.ignored.paths.isEmpty)
    }

    @Test func callsHaveTheirNamespaceInItemsAndEvents() throws {
        let calls = [("mcp__git__search", #"{"q":1}"#), ("mcp__git__patch", #"{"input":"p"}"#), ("search", "{}")].map {
            #"{"id":"c","function":{"name":"\#($0.0)","arguments":\#($0.1)}}"#
        }
        let events = try ResponseTranscript(
            [token(#""content":"","tool_calls":[\#(calls.joined(separator: ","))]"#), last()],
            request: #"{"model":"m","input":"Hi",\#(Self.tools)}"#
        ).events.map(object)
        let items = try #require((events.last?["response"] as? [String: Any])?["output"] as? [[String: Any]])
        let done = events.filter { $0["type"] as? String == "response.output_item.done" }
        for list in [items, done.compactMap { $0["item"] as? [String: Any] }] {
            #expect(list.map { $0["type"] as? String } == ["function_call", "custom_tool_call", "function_call"])
            #expect(list.map { $0["namespace"] as? String } == ["mcp__git", "mcp__git", nil])
            #expect(list.map { $0["name"] as? String } == ["search", "patch", "search"])
            #expect(list[1]["input"] as? String == "p")
        }
    }

    @Test func historyIsTheSameWithAndWithoutTheNamespace() throws {
        func digest(_ members: String) throws -> HistoryDigest {
            let items =
                #"[{"type":"function_call","call_id":"c","arguments":"{}",\#(members)},{"role":"user","content":"a"}]"#
            let asked = try OpenResponses().request(
                Array(#"{"model":"m","input":\#(items),\#(Self.tools)}"#.utf8))
            return HistoryDigest(of: try #require(asked.chat.messages.first))
        }
        let stored = HistoryDigest(
            of: ModelMessage(
                role: "assistant", content: "",
                extras: #""tool_calls":[{"id":"x","function":{"name":"mcp__git__search","arguments":{}}}]"#))
        for members in [
            #""namespace":"mcp__git","name":"search""#, #""namespace":"mcp__git__","name":"search""#,
            #""name":"search""#, #""name":"mcp__git__search""#,
        ] {
            #expect(try digest(members) == stored, "\(members)")
        }
        #expect(try digest(#""namespace":"mcp__hub","name":"search""#) != stored)
    }

    @Test func bareNameOfSeveralToolsStaysAsItIs() throws {
        let items =
            #"[{"type":"function_call","call_id":"c","name":"b","arguments":"{}"},{"role":"user","content":"a"}]"#
        let body = #"{"model":"m","input":\#(items),"tools":[\#(namespace("n", ["b"])),\#(namespace("o", ["b"]))]}"#
        let asked = try OpenResponses().request(Array(body.utf8))
        #expect(asked.chat.messages.first?.extras?.contains(#""name":"b""#) == true)
    }

    @Test func itemsOfAConversationAreThoseOfTheRequestsOfItsReplies() throws {
        var asked = try request(Self.tools)
        _ = asked.keep(createdAt: 0)
        var options = ByteBuffer()
        options.append(asked.chat.passThrough)
        let reply = ConversationRow.Reply(
            id: try #require(ReplyID(parsing: replyID)), model: "m", state: .complete, options: options.array)
        func call(_ name: String) -> [UInt8] {
            Array(#""tool_calls":[{"function":{"name":"\#(name)","arguments":{"input":"p"}}}]"#.utf8)
        }
        let rows = [
            ConversationRow(
                seq: 1, kind: .prompt(turn: 3), time: 0, role: Array("assistant".utf8),
                extras: call("mcp__git__search")),
            ConversationRow(
                seq: 2, kind: .prompt(turn: 3), time: 0, role: Array("tool".utf8), content: Array("ok".utf8),
                extras: Array(#""tool_name":"mcp__git__patch","tool_call_id":"c""#.utf8)),
            ConversationRow(
                seq: 3, kind: .reply(reply), time: 0, role: Array("assistant".utf8), extras: call("mcp__git__patch")),
            ConversationRow(
                seq: 4, kind: .message, time: 0, role: Array("assistant".utf8), extras: call("mcp__git__search")),
        ]
        let items = ItemList(rows)
        var page = ItemList.Page()
        page.isAscending = true
        var isFound = false
        let json = text { isFound = items.append(page, to: &$0) }
        #expect(isFound)
        let data = try #require(try object(json)["data"] as? [[String: Any]])
        #expect(
            data.map { $0["type"] as? String } == [
                "function_call", "custom_tool_call_output", "custom_tool_call", "function_call",
            ])
        #expect(data.map { $0["name"] as? String } == ["search", nil, "patch", "mcp__git__search"])
        #expect(data.map { $0["namespace"] as? String } == ["mcp__git", nil, "mcp__git", nil])
        #expect(data.map { $0["id"] as? String } == ["fc_1_0", "ctco_2", "ctc_\(replyID)_0", "fc_4_0"])
        #expect(data[2]["input"] as? String == "p")
    }
}
