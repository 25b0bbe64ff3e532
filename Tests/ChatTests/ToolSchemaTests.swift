import ChatterdBasics
import ChatterdChat
import Testing

/// The tools of a request to `/llmtools`.
struct ToolSchemaTests {
    private func decoded(_ tools: String, keepingTools: Bool = true) throws(ChatRequestError) -> ChatRequest {
        let body = Array(String.request(adding: tools.isEmpty ? "" : ",\"tools\":\(tools)").utf8)
        return try ChatRequest(decoding: body.span, keepingTools: keepingTools)
    }

    private func kept(_ tools: String) throws(ChatRequestError) -> String? {
        try decoded(tools).newTools.map { String(decoding: $0, as: UTF8.self) }
    }

    private static func tool(_ function: String, _ others: String = "") -> String {
        #"{"type":"function","function":{\#(function)}\#(others)}"#
    }

    @Test func toolIsKeptAsItIs() throws {
        let tool = Self.tool(
            #""name":"get_weather","description":"Get current temperature","parameters":{"type":"object","properties":{"latitude":{"type":"string","description":"the \"latitude\""},"unit":{"type":["string","null"],"enum":["F",1]}},"required":["latitude"]}"#
        )
        let request = try decoded("[\(tool)]")
        #expect(request.newTools == Array("[\(tool)]".utf8))
        #expect(request.passThrough == [RawMember(key: "tools", value: Array("[\(tool)]".utf8))])
    }

    @Test(arguments: ["", #","parameters":null"#, #","description":null"#])
    func functionWithoutParametersHasAnObjectWithoutMembers(_ rest: String) throws {
        let empty = #""parameters":{"type":"object","properties":{}}"#
        #expect(
            try kept("[\(Self.tool(#""name":"f""# + rest))]") == "[\(Self.tool(#""name":"f","# + empty))]")
    }

    @Test func membersThatAreNotKnownAreKept() throws {
        let tool = Self.tool(#""name":"f","parameters":{},"strict":true"#, #","x":[1, 2]"#)
        #expect(try kept("[\(tool)]") == "[\(tool)]")
        // The type may be absent: Ollama does not need it.
        #expect(try kept(#"[{"function":{"name":"f","parameters":{}}}]"#)?.hasPrefix(#"[{"type":"function","#) == true)
    }

    @Test func requestWithoutToolsChangesNone() throws {
        for tools in ["", "null"] {
            let request = try decoded(tools)
            #expect(request.newTools == nil && request.passThrough.isEmpty)
        }
    }

    @Test func emptyListRemovesTheTools() throws {
        let request = try decoded("[]")
        #expect(request.newTools == Array("[]".utf8) && request.passThrough.isEmpty)
    }

    @Test func toolsOfOtherPathsArePassedUnread() throws {
        let request = try decoded(#"[{"type":"x"}]"#, keepingTools: false)
        #expect(request.newTools == nil)
        #expect(request.passThrough == [RawMember(key: "tools", value: Array(#"[{"type":"x"}]"#.utf8))])
    }

    /// The names differ in Unicode scalars, although Swift counts them as equal.
    @Test func namesAreComparedByTheirBytes() throws {
        let names = ["caf\u{E9}", "cafe\u{301}"]
        let tools = names.map { Self.tool(#""name":"\#($0)","parameters":{}"#) }.joined(separator: ",")
        #expect(try kept("[\(tools)]") == "[\(tools)]")
    }

    @Test func controlCharactersOfTextsAreRepaired() throws {
        let text = try kept("[\(Self.tool(#""name":"f","description":"a\u0000b","parameters":{}"#))]")
        #expect(text?.contains("a\u{FFFD}b") == true)
    }

    static let refusals: [(String, ChatRequestError.Problem, String)] = [
        ("7", .wrongType, "tools must be an array, not a number."),
        (#"{"a":1}"#, .wrongType, "tools must be an array, not an object."),
        ("[7]", .wrongType, "tools[0] must be an object, not a number."),
        ("[{}]", .missing, "tools[0].function is missing."),
        (#"[{"type":"retrieval"}]"#, .unknownValue, #"tools[0].type must be "function"."#),
        (#"[{"type":7}]"#, .wrongType, "tools[0].type must be a string, not a number."),
        (#"[{"function":[]}]"#, .wrongType, "tools[0].function must be an object, not an array."),
        ("[\(tool(""))]", .missing, "tools[0].function.name is missing."),
        ("[\(tool(#""name":null"#))]", .missing, "tools[0].function.name is missing."),
        ("[\(tool(#""name":7"#))]", .wrongType, "tools[0].function.name must be a string, not a number."),
        (
            "[\(tool(#""name":"""#))]", .unknownValue,
            "tools[0].function.name must be 1 to 128 bytes without control characters."
        ),
        (
            "[\(tool(#""name":"\#(String(repeating: "n", count: 129))""#))]", .unknownValue,
            "tools[0].function.name must be 1 to 128 bytes without control characters."
        ),
        (
            "[\(tool(#""name":"a\n""#))]", .unknownValue,
            "tools[0].function.name must be 1 to 128 bytes without control characters."
        ),
        (
            "[\(tool(#""name":"a""#)),\(tool(#""name":"b""#)),\(tool(#""name":"a""#))]", .unknownValue,
            "tools[2].function.name must be another one than that of tools[0]."
        ),
        (
            "[\(tool(#""name":"f","description":[]"#))]", .wrongType,
            "tools[0].function.description must be a string, not an array."
        ),
        (
            "[\(tool(#""name":"f","parameters":"x""#))]", .wrongType,
            "tools[0].function.parameters must be an object, not a string."
        ),
        (
            "[\(tool(#""name":"f","parameters":{"type":7}"#))]", .wrongType,
            "tools[0].function.parameters.type must be a string, not a number."
        ),
        (
            "[\(tool(#""name":"f","parameters":{"properties":[]}"#))]", .wrongType,
            "tools[0].function.parameters.properties must be an object, not an array."
        ),
        (
            "[\(tool(#""name":"f","parameters":{"properties":{"a":{},"b":"string"}}"#))]", .wrongType,
            "tools[0].function.parameters.properties[1] must be an object, not a string."
        ),
        (
            "[\(tool(#""name":"f","parameters":{"properties":{"a":{"description":1}}}"#))]", .wrongType,
            "tools[0].function.parameters.properties[0].description must be a string, not a number."
        ),
        (
            "[\(tool(#""name":"f","parameters":{"properties":{"a":{"enum":"F"}}}"#))]", .wrongType,
            "tools[0].function.parameters.properties[0].enum must be an array, not a string."
        ),
        (
            "[\(tool(#""name":"f","parameters":{"required":"a"}"#))]", .wrongType,
            "tools[0].function.parameters.required must be an array, not a string."
        ),
        (
            "[\(tool(#""name":"f","parameters":{"required":["a",1]}"#))]", .wrongType,
            "tools[0].function.parameters.required must be an array of strings, not a number."
        ),
    ]

    @Test(arguments: refusals)
    func wrongToolIsRefusedWithItsPlace(
        _ tools: String, _ problem: ChatRequestError.Problem, _ message: String
    ) throws {
        let error = #expect(throws: ChatRequestError.self) { try decoded(tools) }
        #expect(error?.problem == problem && error?.message == message, "\(error?.message ?? "")")
    }

    @Test func toolsHaveLimits() throws {
        let one = { (index: Int) in Self.tool(#""name":"f\#(index)","parameters":{}"#) }
        let most = (0..<ChatRequest.maximumTools).map(one).joined(separator: ",")
        #expect(try decoded("[\(most)]").newTools != nil)
        let more = #expect(throws: ChatRequestError.self) { try decoded("[\(most),\(one(128))]") }
        #expect(more?.message == "tools has more than 128 elements.")
        let rest = Self.tool(#""name":"f","description":"","parameters":{}"#).utf8.count + 2
        let long = { (size: Int) in
            let text = String(repeating: "d", count: size - rest)
            return "[\(Self.tool(#""name":"f","description":"\#(text)","parameters":{}"#))]"
        }
        #expect(try decoded(long(ChatRequest.maximumToolsSize)).newTools?.count == ChatRequest.maximumToolsSize)
        let longer = #expect(throws: ChatRequestError.self) { try decoded(long(ChatRequest.maximumToolsSize + 1)) }
        #expect(longer?.message == "tools has 65537 bytes; at most 65536 are allowed.")
    }
}
