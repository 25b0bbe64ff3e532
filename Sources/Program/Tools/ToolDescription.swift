import ChatterdBasics
import ChatterdChat
import ChatterdHTTP
import ChatterdHTTPClient

/// A tool of the server, as the operator declares it. docs/tools.md describes its members.
public struct ToolDescription: Sendable {
    /// What a call of the tool does.
    public enum Action: Sendable {
        /// A request to a server.
        case http(HTTPAction)
        /// A run of a program.
        case command(CommandAction)
        /// A call of a tool of a server that speaks the Model Context Protocol.
        case mcp(MCPAction)
    }

    /// The limit of a name, in bytes.
    public static let maximumName = ToolOrigin.maximumCalledName

    /// A request to a server.
    public struct HTTPAction: Sendable {
        public var method: Method
        public var url: URLTemplate
        public var fields: Fields
        /// The hosts that a URL of the model may name: a name, `*.` before a name for all below it, or `*`. Empty for a URL of the operator.
        public var hosts: [String]
        /// Whether the server may be at an address that is not public.
        public var allowsPrivate: Bool
        /// The part of a JSON answer that is the result (RFC 6901); `nil` for the whole answer.
        public var pointer: JSONPointer?

        public init(
            method: Method, url: URLTemplate, fields: Fields = [:], hosts: [String] = [], allowsPrivate: Bool = false,
            pointer: JSONPointer? = nil
        ) {
            self.method = method
            self.url = url
            self.fields = fields
            self.hosts = hosts
            self.allowsPrivate = allowsPrivate
            self.pointer = pointer
        }
    }

    /// A run of a program without a shell. It gets the arguments as JSON on its standard input.
    public struct CommandAction: Sendable {
        /// The path of the program and its arguments.
        public var arguments: [String]
        /// The working directory; `nil` for an empty one of each run.
        public var directory: String?
        /// The limit of its address space, in bytes.
        public var memory: Int

        public init(arguments: [String], directory: String? = nil, memory: Int = 512 << 20) {
            self.arguments = arguments
            self.directory = directory
            self.memory = memory
        }
    }

    public let name: String
    public let description: String
    /// The tool as a model gets it.
    public let offer: ServerTool
    /// The JSON schema of its arguments, which are an object.
    public let parameters: [UInt8]
    /// The parameters, compiled.
    let schema: JSONSchema
    public var action: Action
    public var terms = ToolTerms()

    /// Whether each call waits until a person has approved it.
    public var needsApproval: Bool {
        switch terms.approval {
        case .never: false
        case .always: true
        case .writes: !isReadOnly
        }
    }

    /// Whether calls change nothing, as far as the declaration tells, or the server of the tool says so.
    private var isReadOnly: Bool {
        switch action {
        case .http(let action): action.method == .get
        case .command: false
        case .mcp(let action): action.isReadOnly
        }
    }

    /// Creates a tool.
    ///
    /// - Throws: the mistake in the schema of its arguments.
    public init(name: String, description: String, parameters: [UInt8], action: Action) throws(JSONSchemaError) {
        self.name = name
        self.description = description
        self.parameters = parameters
        self.action = action
        schema = try JSONSchema(parameters)
        var json = ByteBuffer()
        json.append("{\"type\":\"function\",\"function\":{\"name\":")
        json.append(jsonString: name)
        json.append(",\"description\":")
        json.append(jsonString: description)
        json.append(",\"parameters\":")
        json.append(parameters)
        json.append("}}")
        var nameOnServer: String?
        if case .mcp(let action) = action { nameOnServer = action.tool }
        offer = ServerTool(name: name, json: json.array, nameOnServer: nameOnServer)
    }
}
