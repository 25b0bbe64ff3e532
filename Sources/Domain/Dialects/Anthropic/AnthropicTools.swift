import ChatterdBasics
import ChatterdRelay

/// The tools of `/v1/messages`.
enum AnthropicTools {
    /// The members of a tool that are translated; others are refused.
    static let members: Set<String> = ["type", "name", "description", "input_schema", "cache_control", "strict"]

    /// Translates `tools` and `tool_choice`.
    static func translate(_ body: DoorMembers, into draft: inout RequestDraft) throws(RelayError) {
        let choice = try body.object("tool_choice")
        let kind = try choice?.string("type", in: "tool_choice.")
        guard let tools = try body.array("tools", atMost: 1_024), !tools.isEmpty, kind != "none" else { return }
        draft.pass("tools", try array(of: tools))
        guard let choice, let kind else { return }
        switch kind {
        case "auto": break
        case "any": draft.pass("tool_choice", Array("\"required\"".utf8))
        case "tool":
            guard let name = try choice.string("name", in: "tool_choice.") else {
                throw .invalid("tool_choice.name is missing.", "tool_choice.name")
            }
            var json = ByteBuffer()
            json.appendJSON { json in
                json.object { json in
                    json.member("type", "function")
                    json.object("function") { $0.member("name", name) }
                }
            }
            draft.pass("tool_choice", json.array)
        default: throw .unsupported("tool_choice.type", "use auto, any, tool or none.")
        }
        if try choice.boolean("disable_parallel_tool_use", in: "tool_choice.") == true {
            draft.pass("parallel_tool_calls", Array("false".utf8))
        }
    }

    private static func array(of tools: [JSONSlice]) throws(RelayError) -> [UInt8] {
        var json = ByteBuffer()
        try json.appendJSON { json throws(RelayError) in
            try json.array { json throws(RelayError) in
                for (index, value) in tools.enumerated() {
                    try write(value, at: "tools[\(index)]", to: &json)
                }
            }
        }
        return json.array
    }

    private static func write(_ value: JSONSlice, at path: String, to json: inout JSONWriter) throws(RelayError) {
        guard let tool = value.members() else { throw .wrongType(path, "an object") }
        let path = path + "."
        if let type = try tool.string("type", in: path), type != "custom" {
            throw .unsupported("\(path)type", "chatterd runs no tools; only custom ones are passed on.")
        }
        try tool.require(only: members, in: path)
        guard let name = try tool.string("name", in: path) else {
            throw .invalid("\(path)name is missing.", "\(path)name")
        }
        let description = try tool.string("description", in: path)
        let strict = try tool.boolean("strict", in: path)
        json.object { json in
            json.member("type", "function")
            json.object("function") { json in
                json.member("name", name)
                json.member("description", description)
                if let schema = tool["input_schema"] { json.member("parameters", raw: schema.json.span) }
                json.member("strict", strict)
            }
        }
    }
}
