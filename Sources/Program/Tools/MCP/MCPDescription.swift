import ChatterdHTTP
import ChatterdHTTPClient

/// A server of tools that speaks the Model Context Protocol, as the operator declares it. docs/tools.md describes its members.
public struct MCPDescription: Sendable {
    /// The way to the server.
    public enum Transport: Sendable {
        /// Requests to a URL ("streamable HTTP").
        case http(HTTPTransport)
        /// A program that runs as long as chatterd, with messages on its standard input and output.
        case program(Program)
    }

    /// The server of a URL.
    public struct HTTPTransport: Sendable {
        public var origin: Origin
        public var path: String
        public var fields: Fields
        /// Whether the server may be at an address that is not public.
        public var allowsPrivate: Bool

        public init(origin: Origin, path: String, fields: Fields = [:], allowsPrivate: Bool = false) {
            self.origin = origin
            self.path = path
            self.fields = fields
            self.allowsPrivate = allowsPrivate
        }

        /// Whether a text is the URL of the server.
        func isAt(_ url: String) -> Bool {
            guard let template = try? URLTemplate(parsing: url.hasSuffix("/") ? url : url + "/") else { return false }
            let (path, own) = (template.fixedPath, self.path.hasSuffix("/") ? self.path : self.path + "/")
            return template.names.isEmpty && template.origin == origin && path == own
        }
    }

    /// A program.
    public struct Program: Sendable {
        /// The path of the program and its arguments.
        public var arguments: [String]
        public var directory: String
        /// Variables of its environment, `NAME=value`, beside `PATH` and `LC_ALL`.
        public var variables: [String]
        /// The limit of its address space, in bytes; `nil` for none.
        public var memory: Int?

        public init(arguments: [String], directory: String = "/", variables: [String] = [], memory: Int? = nil) {
            self.arguments = arguments
            self.directory = directory
            self.variables = variables
            self.memory = memory
        }
    }

    /// The prefix of the names of its tools.
    public let name: String
    public var transport: Transport
    /// The tools that models get, as the server names them; `nil` for all.
    public var tools: [String]?
    /// The terms of all of its tools.
    public var terms = ToolTerms()

    public init(name: String, transport: Transport) {
        self.name = name
        self.transport = transport
    }
}
