import ChatterdBasics

/// A server of tools that a request names, with those of its tools that the model gets.
public struct NamedToolServer: Sendable {
    /// A tool of the server.
    public struct Tool: Sendable {
        /// The name that the model has for the tool.
        public let calledName: String
        /// The name that the server has for it.
        public let name: String
        /// Whether the client wants to be asked before each call. Then the answer ends with the call.
        public let isAsked: Bool
    }

    public let label: String
    public let tools: [Tool]

    public init(label: String, tools: [ServerTool], isAsked: (String) -> Bool = { _ in false }) {
        self.label = label
        self.tools = tools.compactMap { tool in
            tool.nameOnServer.map { Tool(calledName: tool.name, name: $0, isAsked: isAsked($0)) }
        }
    }

    /// Reads an element of the member of a request; `nil` for another value.
    fileprivate init?(_ element: JSONSlice) {
        guard let label = element.last("label", .string)?.string,
            let tools = element.last("tools", .array)?.elements(first: .max)
        else { return nil }
        self.label = label
        self.tools = tools.compactMap { pair in
            guard let parts = pair.elements(first: .max), parts.count >= 2, let called = parts[0].string,
                let name = parts[1].string
            else { return nil }
            return Tool(calledName: called, name: name, isAsked: parts.count > 2 && parts[2].boolean == true)
        }
    }
}

extension ChatRequest {
    /// Offers the tools of named servers to the model, as `offer(_:)` does, and stores which tool is of which server.
    ///
    /// - Parameter isAsked: whether the client wants to be asked before calls of a tool that the server has by this name.
    public mutating func offer(_ servers: [(label: String, tools: [ServerTool], isAsked: (String) -> Bool)]) {
        guard !servers.isEmpty else { return }
        var known: Set<ExactText> = Set(passThrough.toolNames.map(ExactText.init))
        var (named, offered): ([NamedToolServer], [ServerTool]) = ([], [])
        for server in servers {
            let tools = server.tools.filter { known.insert(ExactText($0.name)).inserted }
            offered += tools
            named.append(NamedToolServer(label: server.label, tools: tools, isAsked: server.isAsked))
        }
        offer(offered)
        passThrough.append(RawMember(servers: named))
    }
}

extension RawMember {
    fileprivate init(servers: [NamedToolServer]) {
        var json = ByteBuffer()
        json.appendJSON { json in
            json.array { array in
                for server in servers {
                    array.object { object in
                        object.member("label", server.label)
                        object.array("tools") { tools in
                            for tool in server.tools {
                                tools.array { pair in
                                    pair.string(tool.calledName)
                                    pair.string(tool.name)
                                    if tool.isAsked { pair.boolean(true) }
                                }
                            }
                        }
                    }
                }
            }
        }
        self.init(key: Self.toolServersName, value: json.array)
    }
}

extension [RawMember] {
    /// The servers of tools that the request names.
    public var toolServers: [NamedToolServer] {
        guard let value = last(where: { $0.key == RawMember.toolServersName })?.value else { return [] }
        return (try? JSONSlice(value))?.elements(first: .max)?.compactMap(NamedToolServer.init) ?? []
    }

    /// The tools that the request offers: JSON objects in the form of functions, with their names.
    public var offeredTools: [(name: String, function: JSONSlice)] {
        guard let value = last(where: { $0.key == ChatRequest.toolsName })?.value else { return [] }
        let tools = (try? JSONSlice(value))?.elements(first: .max) ?? []
        return tools.compactMap { tool in
            guard let function = tool.last("function", .object), let name = function.last("name", .string)?.string
            else { return nil }
            return (name, function)
        }
    }
}
