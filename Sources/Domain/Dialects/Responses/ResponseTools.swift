import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// `tools` and `tool_choice` of a request for a response.
struct ResponseTools {
    /// The limit of the length of a namespace's name, in bytes. Each tool of the namespace repeats it.
    private static let maximumNamespace = 256
    /// The limit of the description of a namespace that a model gets, in Unicode scalars. Each tool of the namespace repeats it.
    private static let maximumDescription = 1_024

    /// A namespace of tools.
    private struct Namespace {
        let name: String
        let description: String?

        /// The description of a tool for a model: that of the namespace, and its own.
        func describing(_ own: String?) -> String? {
            guard let description, !description.isEmpty else { return own }
            let shown = String(description.unicodeScalars.prefix(ResponseTools.maximumDescription))
            return own.map { shown + "\n\n" + $0 } ?? shown
        }
    }

    /// The tools as answers repeat them, as a JSON array.
    private(set) var repeated: [UInt8] = []
    /// `tool_choice` as answers repeat it.
    private(set) var repeatedChoice: [UInt8] = Array(#""auto""#.utf8)
    /// The tools by their names for a model.
    private(set) var table = ToolTable()
    /// The servers whose tools the model gets.
    private(set) var servers: [RequestedToolServer] = []
    /// The tools for the model server, with their names there.
    private var tools: [(name: String, namespace: String?, json: [UInt8])] = []
    /// Whether tools of the input are added, which the request may have already.
    private var isAdding = false
    /// `tool_choice` for the model server; `nil` for its own choice.
    private var choice: [UInt8]?

    init(_ members: DoorMembers, ignored: inout IgnoredMembers) throws(RelayError) {
        var list: [[UInt8]] = []
        for (index, value) in (try members.array("tools", atMost: ToolTable.maximumTools) ?? []).enumerated() {
            if let tool = try add(value, "tools[\(index)]", ignored: &ignored) { list.append(tool) }
        }
        let additions = try addTools(of: members["input"], to: &list, ignored: &ignored)
        repeated = Self.array(list)
        if let value = members["tool_choice"] { try choose(value) }
        let isEmpty = members["tools"]?.elements(atMost: ToolTable.maximumTools)?.isEmpty ?? true
        if tools.isEmpty, servers.isEmpty, choice != nil, !isEmpty || additions > 0 {
            throw .unsupported("tool_choice", "no model can call one of these tools here.")
        }
    }

    /// Adds the tools of the items `additional_tools` of the input. Model servers have all tools before the messages, so the place of such
    /// an item has no effect. A tool that the request has already counts once.
    ///
    /// - Returns: the number of tools of these items.
    private mutating func addTools(
        of input: JSONSlice?, to list: inout [[UInt8]], ignored: inout IgnoredMembers
    ) throws(RelayError) -> Int {
        var count = 0
        let items = input?.elements(atMost: ChatRequest.maximumMessages) ?? []
        for (index, item) in items.enumerated() where item.last("type", .string)?.string == "additional_tools" {
            let path = "input[\(index)]."
            guard let item = item.members() else { throw .wrongType(String(path.dropLast()), "an object") }
            try item.ignore(allBut: Self.additionMembers, in: path, as: &ignored)
            let values = try item.array("tools", in: path, atMost: ToolTable.maximumTools) ?? []
            count += values.count
            isAdding = true
            for (index, value) in values.enumerated() {
                if let tool = try add(value, "\(path)tools[\(index)]", ignored: &ignored) { list.append(tool) }
            }
        }
        return count
    }

    /// Adds a tool.
    ///
    /// - Returns: the tool as answers repeat it; `nil` for one that no model can call.
    private mutating func add(
        _ value: JSONSlice, _ path: String, ignored: inout IgnoredMembers
    ) throws(RelayError) -> [UInt8]? {
        guard let tool = value.members() else { throw .wrongType(path, "an object") }
        if try tool.string("type", in: path + ".") == "namespace" {
            return try add(namespace: tool, in: path + ".", ignored: &ignored)
        }
        return try add(tool, path, of: nil, ignored: &ignored)
    }

    /// Adds the tools of a namespace.
    private mutating func add(
        namespace members: DoorMembers, in path: String, ignored: inout IgnoredMembers
    ) throws(RelayError) -> [UInt8]? {
        try members.ignore(allBut: Self.namespaceMembers, in: path, as: &ignored)
        let name = try Self.name(of: members, in: path)
        guard 1...Self.maximumNamespace ~= name.utf8.count else {
            throw .invalid("\(path)name must have 1 to \(Self.maximumNamespace) bytes.", "\(path)name")
        }
        let namespace = Namespace(name: name, description: try members.string("description", in: path))
        var list: [[UInt8]] = []
        let values = try members.array("tools", in: path, atMost: ToolTable.maximumTools) ?? []
        for (index, value) in values.enumerated() {
            let path = "\(path)tools[\(index)]"
            guard let tool = value.members() else { throw .wrongType(path, "an object") }
            if let tool = try add(tool, path, of: namespace, ignored: &ignored) { list.append(tool) }
        }
        guard !list.isEmpty else { return nil }
        let tools = Self.array(list)
        return Self.object { json in
            json.member("type", "namespace")
            json.member("name", name)
            json.member("description", orNull: namespace.description)
            json.member("tools", raw: tools.span)
        }
    }

    /// Adds a tool of a namespace, or one outside of all.
    private mutating func add(
        _ tool: DoorMembers, _ path: String, of namespace: Namespace?, ignored: inout IgnoredMembers
    ) throws(RelayError) -> [UInt8]? {
        if isAdding, let name = tool["name"]?.string, table.has(name, of: namespace?.name) {
            try ignored.add(path, "the request has a tool of this name.")
            return nil
        }
        switch try tool.string("type", in: path + ".") {
        case "function": return try add(function: tool, in: path + ".", of: namespace, ignored: &ignored)
        case "custom": return try add(custom: tool, in: path + ".", of: namespace, ignored: &ignored)
        case "mcp" where namespace == nil: return try add(server: tool, in: path + ".", ignored: &ignored)
        default:
            try ignored.add(path, "chatterd has no such tool: use function, custom or mcp.")
            return nil
        }
    }

    /// Adds a custom tool as the function that a model calls in its place.
    private mutating func add(
        custom tool: DoorMembers, in path: String, of namespace: Namespace?, ignored: inout IgnoredMembers
    ) throws(RelayError) -> [UInt8] {
        try tool.ignore(allBut: Self.customMembers, in: path, as: &ignored)
        let name = try Self.name(of: tool, in: path)
        let description = try tool.string("description", in: path)
        let format = try tool.object("format", in: path)
        let custom = CustomTool(
            name: try enter(ToolTable.Tool(namespace: namespace?.name, name: name, isCustom: true), in: path),
            description: namespace?.describing(description) ?? description,
            syntax: try format?.string("syntax", in: path + "format."),
            grammar: try format?.string("definition", in: path + "format."))
        add(custom.function, of: namespace?.name)
        return Self.object { json in
            json.member("type", "custom")
            json.member("name", name)
            json.member("description", orNull: description)
            if let format = tool["format"] { json.member("format", raw: format.json.span) }
        }
    }

    private mutating func add(
        function tool: DoorMembers, in path: String, of namespace: Namespace?, ignored: inout IgnoredMembers
    ) throws(RelayError) -> [UInt8] {
        try tool.ignore(allBut: Self.functionMembers, in: path, as: &ignored)
        _ = try tool.object("parameters", in: path)
        let name = try Self.name(of: tool, in: path)
        let parameters = tool["parameters"]?.json
        let description = try tool.string("description", in: path)
        let function = OpenAIFunction(
            name: try enter(ToolTable.Tool(namespace: namespace?.name, name: name, isCustom: false), in: path),
            description: namespace?.describing(description) ?? description,
            // Model servers need a schema.
            parameters: parameters ?? Array(#"{"type":"object","properties":{}}"#.utf8),
            strict: try tool.boolean("strict", in: path))
        add(function, of: namespace?.name)
        let shown = parameters ?? Array("null".utf8)
        return Self.object { json in
            json.member("type", "function")
            json.member("name", name)
            json.member("description", orNull: description)
            json.member("parameters", raw: shown.span)
            json.name("strict")
            if let strict = function.strict { json.boolean(strict) } else { json.null() }
        }
    }

    /// Adds the tools of a server.
    private mutating func add(
        server tool: DoorMembers, in path: String, ignored: inout IgnoredMembers
    ) throws(RelayError) -> [UInt8] {
        try tool.ignore(allBut: Self.serverMembers, in: path, as: &ignored)
        guard let label = try tool.string("server_label", in: path) else {
            throw .invalid("\(path)server_label is missing.", "\(path)server_label")
        }
        let approval = try RequestedApproval(of: tool, in: path)
        var names: [String]?
        if let list = tool["allowed_tools"] {
            let list = list.kind == .object ? list.last("tool_names", .array) : list
            guard let elements = list?.elements(atMost: ToolTable.maximumTools) else {
                throw .wrongType("\(path)allowed_tools", "an array of names")
            }
            names = elements.compactMap(\.string)
            guard names?.count == elements.count else { throw .wrongType("\(path)allowed_tools", "an array of names") }
        }
        let url = try tool.string("server_url", in: path)
        servers.append(
            RequestedToolServer(
                label: label, url: url, tools: names, approval: approval, path: "\(path)server_label"))
        return Self.object { json in
            json.member("type", "mcp")
            json.member("server_label", label)
            json.member("server_url", orNull: url)
            json.name("allowed_tools")
            if let allowed = tool["allowed_tools"] { json.raw(allowed.bytes.span) } else { json.null() }
            json.name("require_approval")
            if let asked = tool["require_approval"] { json.raw(asked.json.span) } else { json.string("always") }
        }
    }

    private static let serverMembers: Set<String> = [
        "type", "server_label", "server_url", "server_description", "allowed_tools", "require_approval",
    ]
    private static let additionMembers: Set<String> = ["type", "id", "status", "role", "tools"]
    private static let namespaceMembers: Set<String> = ["type", "name", "description", "tools"]
    private static let customMembers: Set<String> = ["type", "name", "description", "format"]
    private static let functionMembers: Set<String> = ["type", "name", "description", "parameters", "strict"]

    private static func name(of tool: DoorMembers, in path: String) throws(RelayError) -> String {
        guard let name = try tool.string("name", in: path) else {
            throw .invalid("\(path)name is missing.", "\(path)name")
        }
        return name
    }

    /// Enters a tool into the table.
    ///
    /// - Returns: its name for a model.
    /// - Throws: `invalidRequest` if a call would not tell it from another tool, and for too many tools.
    private mutating func enter(_ tool: ToolTable.Tool, in path: String) throws(RelayError) -> String {
        guard tools.count < ToolTable.maximumTools else {
            throw .invalid("tools has more than \(ToolTable.maximumTools) tools, with those of namespaces.", "tools")
        }
        let called = ToolTable.called(tool.name, of: tool.namespace)
        guard table.add(tool) else {
            throw .invalid("\(path)name: a model would know this tool and another one as \(called).", "\(path)name")
        }
        return called
    }

    /// Adds a function for the model server.
    private mutating func add(_ function: OpenAIFunction, of namespace: String?) {
        var passed = ByteBuffer()
        passed.appendJSON { function.write(to: &$0) }
        tools.append((function.name, namespace, passed.array))
    }

    private static func object(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var json = ByteBuffer()
        json.appendJSON { json in json.object { write(&$0) } }
        return json.array
    }

    private static func array(_ values: [[UInt8]]) -> [UInt8] {
        var json = ByteBuffer()
        json.append("[")
        for (index, value) in values.enumerated() {
            if index > 0 { json.append(",") }
            json.append(value)
        }
        json.append("]")
        return json.array
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
            let called = table.called(name, of: try object.string("namespace", in: "tool_choice."))
            // The tools of a server are known later.
            guard tools.isEmpty || !servers.isEmpty || tools.contains(where: { $0.name == called }) else {
                throw .unsupported("tool_choice.name", "there is no such tool that a model can call here.")
            }
            var json = ByteBuffer()
            json.append(#"{"type":"function","function":{"name":"#)
            json.append(jsonString: called)
            json.append("}}")
            choice = json.array
        case "allowed_tools":
            var (allowed, namespaces): (Set<ExactText>, Set<ExactText>) = ([], [])
            var allowedServers: [(label: String, tool: String?)] = []
            for (index, tool) in (try object.array("tools", in: "tool_choice.") ?? []).enumerated() {
                let path = "tool_choice.tools[\(index)]"
                guard let members = tool.members() else { throw .wrongType(path, "an object") }
                if members["type"]?.string == "mcp" {
                    guard let label = try members.string("server_label", in: path + ".") else {
                        throw .invalid("\(path).server_label is missing.", "\(path).server_label")
                    }
                    allowedServers.append((label, try members.string("name", in: path + ".")))
                    continue
                }
                // A tool that a server of Open Responses runs by itself may have no name. `tools` ignores it, too.
                guard let name = try members.string("name", in: path + ".") else { continue }
                if members["type"]?.string == "namespace" {
                    namespaces.insert(ExactText(name))
                } else {
                    let namespace = try members.string("namespace", in: path + ".")
                    allowed.insert(ExactText(table.called(name, of: namespace)))
                }
            }
            tools.removeAll { tool in
                let isAllowed = tool.namespace.map { namespaces.contains(ExactText($0)) } ?? false
                return !isAllowed && !allowed.contains(ExactText(tool.name))
            }
            servers = servers.compactMap { $0.limited(to: allowedServers) }
            try choose(mode: try object.string("mode", in: "tool_choice.") ?? "auto", "tool_choice.mode")
        default: throw .unsupported("tool_choice.type", "use function, custom or allowed_tools.")
        }
    }

    private mutating func choose(mode: String, _ path: String) throws(RelayError) {
        switch mode {
        case "auto": break
        case "required": choice = Array(#""required""#.utf8)
        case "none": (tools, servers) = ([], [])
        default: throw .unsupported(path, "use none, auto or required.")
        }
    }

    /// Adds the members for the model server. A choice means nothing without tools.
    func add(to draft: inout RequestDraft) {
        guard !tools.isEmpty || !servers.isEmpty else { return }
        if !tools.isEmpty { draft.pass("tools", Self.array(tools.map(\.json))) }
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
