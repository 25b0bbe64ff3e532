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

    init(_ members: DoorMembers, ignored: inout IgnoredMembers) throws(RelayError) {
        repeated.append("[")
        for (index, value) in (try members.array("tools", atMost: Self.maximumTools) ?? []).enumerated() {
            let path = "tools[\(index)]"
            guard let tool = value.members() else { throw .wrongType(path, "an object") }
            switch try tool.string("type", in: path + ".") {
            case "function": try add(tool, in: path + ".", ignored: &ignored)
            case "custom": try add(custom: tool, in: path + ".", ignored: &ignored)
            default: try ignored.add(path, "chatterd runs no tools: use function or custom.")
            }
        }
        repeated.append("]")
        if let value = members["tool_choice"] { try choose(value) }
        if tools.isEmpty, choice != nil, members["tools"]?.elements(atMost: Self.maximumTools)?.isEmpty == false {
            throw .unsupported("tool_choice", "no model can call one of these tools here.")
        }
    }

    /// Adds a custom tool as the function that a model calls in its place.
    private mutating func add(
        custom tool: DoorMembers, in path: String, ignored: inout IgnoredMembers
    ) throws(RelayError) {
        try tool.ignore(allBut: Self.customMembers, in: path, as: &ignored)
        let format = try tool.object("format", in: path)
        let custom = CustomTool(
            name: try Self.name(of: tool, in: path), description: try tool.string("description", in: path),
            syntax: try format?.string("syntax", in: path + "format."),
            grammar: try format?.string("definition", in: path + "format."))
        add(custom.function) { json in
            json.member("type", "custom")
            json.member("name", custom.name)
            json.member("description", orNull: custom.description)
            if let format = tool["format"] { json.member("format", raw: format.json.span) }
        }
    }

    private mutating func add(
        _ tool: DoorMembers, in path: String, ignored: inout IgnoredMembers
    ) throws(RelayError) {
        try tool.ignore(allBut: Self.functionMembers, in: path, as: &ignored)
        _ = try tool.object("parameters", in: path)
        let parameters = tool["parameters"]?.json
        let function = OpenAIFunction(
            name: try Self.name(of: tool, in: path), description: try tool.string("description", in: path),
            // Model servers need a schema.
            parameters: parameters ?? Array(#"{"type":"object","properties":{}}"#.utf8),
            strict: try tool.boolean("strict", in: path))
        let shown = parameters ?? Array("null".utf8)
        add(function) { json in
            json.member("type", "function")
            json.member("name", function.name)
            json.member("description", orNull: function.description)
            json.member("parameters", raw: shown.span)
            json.name("strict")
            if let strict = function.strict { json.boolean(strict) } else { json.null() }
        }
    }

    private static let customMembers: Set<String> = ["type", "name", "description", "format"]
    private static let functionMembers: Set<String> = ["type", "name", "description", "parameters", "strict"]

    private static func name(of tool: DoorMembers, in path: String) throws(RelayError) -> String {
        guard let name = try tool.string("name", in: path) else {
            throw .invalid("\(path)name is missing.", "\(path)name")
        }
        return name
    }

    /// Adds a function for the model server, and the tool as answers repeat it.
    private mutating func add(_ function: OpenAIFunction, repeated write: (inout JSONWriter) -> Void) {
        var passed = ByteBuffer()
        passed.appendJSON { function.write(to: &$0) }
        tools.append((function.name, passed.array))
        if repeated.count > 1 { repeated.append(",") }
        repeated.appendJSON { json in json.object { write(&$0) } }
    }

    private mutating func choose(_ value: JSONSlice) throws(RelayError) {
        repeatedChoice = value.json
        if let mode = value.string {
            try choose(mode: mode, "tool_choice")
            return
        }
        guard let object = value.members() else { throw .wrongType("tool_choice", "a string or an object") }
        switch try object.string("type", in: "tool_choice.") {
        case "function", "custom":
            guard let name = try object.string("name", in: "tool_choice.") else {
                throw .invalid("tool_choice.name is missing.", "tool_choice.name")
            }
            guard tools.isEmpty || tools.contains(where: { $0.name == name }) else {
                throw .unsupported("tool_choice.name", "there is no such tool that a model can call here.")
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
                guard let members = tool.members() else { throw .wrongType(path, "an object") }
                // A tool that a server of Open Responses runs by itself may have no name. `tools` ignores it, too.
                if let name = try members.string("name", in: path + ".") { allowed.insert(ExactText(name)) }
            }
            tools.removeAll { !allowed.contains(ExactText($0.name)) }
            try choose(mode: try object.string("mode", in: "tool_choice.") ?? "auto", "tool_choice.mode")
        default: throw .unsupported("tool_choice.type", "use function, custom or allowed_tools.")
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
