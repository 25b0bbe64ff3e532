import ChatterdBasics
import ChatterdRelay

/// `tools` and `tool_choice` of a request for a response.
struct ResponseTools {
    /// The limit of tools.
    private static let maximumTools = 1_024

    /// The tools as answers repeat them.
    private(set) var repeated = ByteBuffer()
    /// `tool_choice` as answers repeat it.
    private(set) var repeatedChoice: [UInt8] = Array(#""auto""#.utf8)
    /// The tools for the model server, with their names.
    private var tools: [(name: String, json: [UInt8])] = []
    /// `tool_choice` for the model server; `nil` for its own choice.
    private var choice: [UInt8]?

    init(_ members: DoorMembers) throws(RelayError) {
        repeated.append("[")
        for (index, value) in (try members.array("tools", atMost: Self.maximumTools) ?? []).enumerated() {
            let path = "tools[\(index)]"
            guard let tool = value.members() else { throw .wrongType(path, "an object") }
            try add(tool, in: path + ".")
        }
        repeated.append("]")
        if let value = members["tool_choice"] { try choose(value) }
    }

    private mutating func add(_ tool: DoorMembers, in path: String) throws(RelayError) {
        guard try tool.string("type", in: path) == "function" else {
            throw .unsupported("\(path)type", "chatterd runs no tools: use function.")
        }
        try tool.require(only: ["type", "name", "description", "parameters", "strict"], in: path)
        guard let name = try tool.string("name", in: path) else {
            throw .invalid("\(path)name is missing.", "\(path)name")
        }
        let description = try tool.string("description", in: path)
        _ = try tool.object("parameters", in: path)
        let parameters = tool["parameters"]?.json
        // Model servers need a schema.
        let schema = parameters ?? Array(#"{"type":"object","properties":{}}"#.utf8)
        let shown = parameters ?? Array("null".utf8)
        let strict = try tool.boolean("strict", in: path)
        var passed = ByteBuffer()
        passed.appendJSON { json in
            json.object { json in
                json.member("type", "function")
                json.object("function") { function in
                    function.member("name", name)
                    function.member("description", description)
                    function.member("parameters", raw: schema.span)
                    function.member("strict", strict)
                }
            }
        }
        tools.append((name, passed.array))
        if repeated.count > 1 { repeated.append(",") }
        repeated.appendJSON { json in
            json.object { json in
                json.member("type", "function")
                json.member("name", name)
                json.member("description", orNull: description)
                json.member("parameters", raw: shown.span)
                json.name("strict")
                if let strict { json.boolean(strict) } else { json.null() }
            }
        }
    }

    private mutating func choose(_ value: JSONSlice) throws(RelayError) {
        repeatedChoice = value.json
        if let mode = value.string {
            try choose(mode: mode, "tool_choice")
            return
        }
        guard let object = value.members() else { throw .wrongType("tool_choice", "a string or an object") }
        switch try object.string("type", in: "tool_choice.") {
        case "function":
            guard let name = try object.string("name", in: "tool_choice.") else {
                throw .invalid("tool_choice.name is missing.", "tool_choice.name")
            }
            var json = ByteBuffer()
            json.append(#"{"type":"function","function":{"name":"#)
            json.append(jsonString: name)
            json.append("}}")
            choice = json.array
        case "allowed_tools":
            var allowed: Set<ExactText> = []
            for (index, tool) in (try object.array("tools", in: "tool_choice.") ?? []).enumerated() {
                let path = "tool_choice.tools[\(index)]"
                guard let name = try tool.members()?.string("name", in: path + ".") else {
                    throw .wrongType(path, "an object with name")
                }
                allowed.insert(ExactText(name))
            }
            tools.removeAll { !allowed.contains(ExactText($0.name)) }
            try choose(mode: try object.string("mode", in: "tool_choice.") ?? "auto", "tool_choice.mode")
        default: throw .unsupported("tool_choice.type", "use function or allowed_tools.")
        }
    }

    private mutating func choose(mode: String, _ path: String) throws(RelayError) {
        switch mode {
        case "auto": break
        case "required": choice = Array(#""required""#.utf8)
        case "none": tools = []
        default: throw .unsupported(path, "use none, auto or required.")
        }
    }

    /// Adds the members for the model server. A choice means nothing without tools.
    func add(to draft: inout RequestDraft) {
        guard !tools.isEmpty else { return }
        var list = ByteBuffer()
        for tool in tools {
            list.append(list.isEmpty ? "[" : ",")
            list.append(tool.json)
        }
        list.append("]")
        draft.pass("tools", list.array)
        if let choice { draft.pass("tool_choice", choice) }
    }
}

extension JSONWriter {
    /// Writes a member that is a string or null.
    mutating func member(_ name: String, orNull text: String?) {
        self.name(name)
        if let text { string(text) } else { null() }
    }
}
