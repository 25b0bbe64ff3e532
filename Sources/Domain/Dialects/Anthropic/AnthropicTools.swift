import ChatterdBasics
import ChatterdRelay

/// The tools of `/v1/messages`.
enum AnthropicTools {
    /// The members of a tool that are translated, or have no effect anywhere.
    private static let members: Set<String> = [
        "type", "name", "description", "input_schema", "cache_control", "strict",
    ]

    /// Translates `tools` and `tool_choice`.
    static func translate(into draft: inout RequestDraft) throws(RelayError) {
        let body = draft.body
        let choice = try body.object("tool_choice")
        let kind = try choice?.string("type", in: "tool_choice.")
        guard let tools = try body.array("tools", atMost: 1_024), !tools.isEmpty, kind != "none" else { return }
        let (json, names) = try array(of: tools, ignored: &draft.ignored)
        guard !names.isEmpty else {
            if kind == "any" || kind == "tool" {
                throw .unsupported("tool_choice.type", "no model can call one of these tools here.")
            }
            return
        }
        draft.pass("tools", json)
        guard let choice, let kind else { return }
        switch kind {
        case "auto": break
        case "any": draft.pass("tool_choice", Array("\"required\"".utf8))
        case "tool":
            guard let name = try choice.string("name", in: "tool_choice.") else {
                throw .invalid("tool_choice.name is missing.", "tool_choice.name")
            }
            guard names.contains(ExactText(name)) else {
                throw .unsupported("tool_choice.name", "there is no such tool that a model can call here.")
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

    /// The tools for the model server, and their names.
    private static func array(
        of tools: [JSONSlice], ignored: inout IgnoredMembers
    ) throws(RelayError) -> (json: [UInt8], names: Set<ExactText>) {
        var (json, names) = (ByteBuffer(), Set<ExactText>())
        try json.appendJSON { json throws(RelayError) in
            try json.array { json throws(RelayError) in
                for (index, value) in tools.enumerated() {
                    let path = "tools[\(index)]"
                    guard let tool = value.members() else { throw .wrongType(path, "an object") }
                    if let type = try tool.string("type", in: path + "."), type != "custom" {
                        try ignored.add(path, "chatterd runs no tools; only custom ones are passed on.")
                        continue
                    }
                    try tool.ignore(allBut: members, in: path + ".", as: &ignored)
                    names.insert(ExactText(try write(tool, in: path + ".", to: &json)))
                }
            }
        }
        return (json.array, names)
    }

    /// Writes a tool.
    ///
    /// - Returns: its name.
    private static func write(
        _ tool: DoorMembers, in path: String, to json: inout JSONWriter
    ) throws(RelayError) -> String {
        guard let name = try tool.string("name", in: path) else {
            throw .invalid("\(path)name is missing.", "\(path)name")
        }
        OpenAIFunction(
            name: name, description: try tool.string("description", in: path), parameters: tool["input_schema"]?.json,
            strict: try tool.boolean("strict", in: path)
        ).write(to: &json)
        return name
    }
}
