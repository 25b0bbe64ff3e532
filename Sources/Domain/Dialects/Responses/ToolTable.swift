import ChatterdBasics
import ChatterdCryptography

/// The tools of a request for a response, by the names that a model calls them by.
///
/// Model servers know only functions: a custom tool becomes a function, and a tool of a namespace one with a joined name. The table tells what
/// a call of such a function is for the client.
struct ToolTable {
    /// A tool as the client knows it.
    struct Tool {
        /// The namespace that the tool is in; `nil` for none. Codex has one for each MCP server.
        let namespace: String?
        let name: String
        let isCustom: Bool
    }

    /// The limit of tools. Those of namespaces count one by one.
    static let maximumTools = 1_024
    /// The limit of the length of a function's name at model servers.
    static let maximumName = 64

    private var tools: [ExactText: Tool] = [:]
    /// The tools of namespaces by their own names, with the name that a model calls the last one by.
    private var owned: [ExactText: (called: String, count: Int)] = [:]

    init() {}

    /// The tools that a response repeats.
    ///
    /// - Parameter object: what was kept with the request, as a JSON object; `nil` if nothing was.
    init(keptIn object: [UInt8]?) {
        guard let object, let list = (try? JSONSlice(object))?.members()?["tools"]?.elements(atMost: Self.maximumTools)
        else { return }
        for element in list {
            guard let tool = element.members() else { continue }
            guard tool["type"]?.string == "namespace" else {
                add(repeated: tool, of: nil)
                continue
            }
            guard let namespace = tool["name"]?.string else { continue }
            for element in tool["tools"]?.elements(atMost: Self.maximumTools) ?? [] {
                if let tool = element.members() { add(repeated: tool, of: namespace) }
            }
        }
    }

    private mutating func add(repeated tool: DoorMembers, of namespace: String?) {
        guard let name = tool["name"]?.string else { return }
        _ = add(Tool(namespace: namespace, name: name, isCustom: tool["type"]?.string == "custom"))
    }

    /// Adds a tool.
    ///
    /// - Returns: whether a call tells it from all others. Tools outside of namespaces are the client's own affair.
    mutating func add(_ tool: Tool) -> Bool {
        let called = Self.called(tool.name, of: tool.namespace)
        if let other = tools[called], other.namespace != nil || tool.namespace != nil { return false }
        tools[called] = tool
        if tool.namespace != nil { owned[tool.name] = (called, (owned[tool.name]?.count ?? 0) + 1) }
        return true
    }

    /// What a call is for the client; `nil` for a call of a tool that the request does not have.
    func tool(of call: borrowing AnswerToolCall) -> Tool? { tool(called: String(decodingJSON: call.name)) }

    /// The tool that a model calls by a name; `nil` for none.
    func tool(called name: String) -> Tool? { tools[name] }

    /// Whether the table has a tool.
    func has(_ name: String, of namespace: String?) -> Bool { tools[Self.called(name, of: namespace)] != nil }

    /// The name that a model calls a tool by. Without a namespace it may be that of the only tool of a namespace with this name: some programs
    /// do not send the namespace of a call back.
    func called(_ name: String, of namespace: String?) -> String {
        let isBare = namespace?.isEmpty ?? true
        if isBare, tools[name] == nil, let owned = owned[name], owned.count == 1 { return owned.called }
        return Self.called(name, of: namespace)
    }

    /// The name that a model calls a tool by: that of its namespace and its own, with `__` between them. A name that functions cannot have
    /// is cut, and ends with the beginning of its digest.
    static func called(_ name: String, of namespace: String?) -> String {
        guard let namespace, !namespace.isEmpty else { return name }
        var joined = Array(namespace.utf8)
        while joined.last == UInt8(ascii: "_") { joined.removeLast() }
        joined += Array("__".utf8) + Array(name.utf8)
        if joined.count <= maximumName, joined.allSatisfy(isInNames) { return String(decoding: joined, as: UTF8.self) }
        let digest = String(hexadecimal: SHA256Digest(of: joined.span).bytes.prefix(4))
        let kept = joined.prefix(maximumName - 1 - digest.utf8.count).map { isInNames($0) ? $0 : UInt8(ascii: "_") }
        return String(decoding: kept, as: UTF8.self) + "_" + digest
    }

    private static func isInNames(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}

extension AnswerContext {
    /// The tools of the request.
    var tools: ToolTable { ToolTable(keptIn: kept) }
}
