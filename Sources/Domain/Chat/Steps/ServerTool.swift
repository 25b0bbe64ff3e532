import ChatterdBasics

/// A tool of the server, as a model gets it.
public struct ServerTool: Sendable {
    public let name: String
    /// The tool in Ollama's form: a JSON object with a `function`.
    public let json: [UInt8]
    /// The name that its server has for the tool; `nil` for a tool of no such server.
    public let nameOnServer: String?

    public init(name: String, json: [UInt8], nameOnServer: String? = nil) {
        self.name = name
        self.json = json
        self.nameOnServer = nameOnServer
    }
}

extension ChatRequest {
    /// Offers tools of the server to the model, beside those of the request. A tool of the client counts in place of one of the server with the
    /// same name.
    ///
    /// The turn stores them with its request, so that another answer, and a process that adopts the reply, have the same tools.
    public mutating func offer(_ tools: [ServerTool]) {
        let known = passThrough.toolNames
        let offered = tools.filter { !known.contains($0.name) }
        guard !offered.isEmpty else { return }
        let own = passThrough.last { $0.key == Self.toolsName }?.value.dropFirst().dropLast() ?? []
        let parts = (own.allSatisfy { $0 <= 0x20 } ? [] : [Array(own)]) + offered.map(\.json)
        passThrough.removeAll { $0.key == Self.toolsName }
        passThrough.append(
            RawMember(
                key: Self.toolsName,
                value: Array("[".utf8) + parts.joined(separator: [UInt8(ascii: ",")]) + Array("]".utf8)))
        passThrough.append(RawMember(residentTools: offered.map(\.name)))
        // A process that takes the reply over continues after the last step.
        onInterrupt = onInterrupt ?? .regenerate
    }
}

extension RawMember {
    /// Creates the member with the names of the tools of the server that a request offers.
    fileprivate init(residentTools names: [String]) {
        var json = ByteBuffer()
        json.appendJSON { json in json.array { array in names.forEach { array.string($0) } } }
        self.init(key: Self.residentToolsName, value: json.array)
    }
}

extension [RawMember] {
    /// The names of the tools of the server that the request offers.
    public var residentTools: [String] {
        guard let value = last(where: { $0.key == RawMember.residentToolsName })?.value else { return [] }
        return (try? JSONSlice(value))?.elements(first: .max)?.compactMap(\.string) ?? []
    }

    /// The names of all tools that the request offers.
    public var toolNames: [String] { offeredTools.map(\.name) }

    /// The members without tools, for a model that is to answer.
    public var withoutTools: [RawMember] { filter { $0.key != ChatRequest.toolsName && $0.key != "tool_choice" } }
}
