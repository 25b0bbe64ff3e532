import ChatterdBasics
import ChatterdChat

/// The servers of tools that a request for a response names, as its output lists them.
public struct ResponseServers: Sendable {
    /// A server.
    struct Server {
        let label: String
        /// Its tools, as a JSON array.
        let tools: [UInt8]
    }

    let servers: [Server]
    /// The tools whose calls wait for the client, by the names that the model has for them.
    private let asking: [ExactText: ToolOrigin]

    /// Creates the servers of a request that names none.
    public init() { (servers, asking) = ([], [:]) }

    /// Reads the servers that a stored request names.
    public init(of members: [RawMember]) {
        let named = members.toolServers
        var asking: [ExactText: ToolOrigin] = [:]
        for server in named {
            for tool in server.tools where tool.isAsked {
                asking[ExactText(tool.calledName)] = ToolOrigin(label: server.label, name: tool.name)
            }
        }
        self.asking = asking
        var functions: [ExactText: JSONSlice] = [:]
        for tool in named.isEmpty ? [] : members.offeredTools { functions[ExactText(tool.name)] = tool.function }
        servers = named.map { server in
            var json = ByteBuffer()
            json.appendJSON { json in
                json.array { array in
                    for tool in server.tools {
                        guard let function = functions[ExactText(tool.calledName)] else { continue }
                        array.object { object in
                            object.member("name", tool.name)
                            object.member("description", orNull: function.last("description", .string)?.string)
                            let schema = function.last("parameters", .object)?.bytes ?? Array("{}".utf8)
                            object.member("input_schema", raw: schema.span)
                            object.name("annotations")
                            object.null()
                        }
                    }
                }
            }
            return Server(label: server.label, tools: json.array)
        }
    }

    public var isEmpty: Bool { servers.isEmpty }

    /// The tool of a call that waits for the client; `nil` for another call.
    func asked(_ call: borrowing AnswerToolCall) -> ToolOrigin? {
        asking.isEmpty ? nil : asking[ExactText(String(decodingJSON: call.name))]
    }

    /// The size of all lists, in bytes.
    var size: Int { servers.reduce(0) { $0 + $1.tools.count } }
}
