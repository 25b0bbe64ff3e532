import ChatterdBasics
import ChatterdRelay

/// A server of tools that a request names. Only the operator declares servers: the request chooses among them.
public struct RequestedToolServer: Sendable {
    /// The name of the server.
    public let label: String
    /// The URL by which the client knows the server; `nil` if it does not say.
    public let url: String?
    /// The tools that the model gets, as the server names them; `nil` for all.
    public private(set) var tools: [String]?
    /// Before which calls the client wants to be asked.
    let approval: RequestedApproval
    /// The path of the name in the request, for errors.
    let path: String

    /// The server with those of its tools that a choice of the request permits; `nil` if it permits none.
    ///
    /// - Parameter allowed: the names of servers, each with a tool or `nil` for all.
    func limited(to allowed: [(label: String, tool: String?)]) -> RequestedToolServer? {
        let own = allowed.filter { $0.label == label }
        guard !own.isEmpty else { return nil }
        guard own.allSatisfy({ $0.tool != nil }) else { return self }
        var server = self
        let names = own.compactMap(\.tool)
        server.tools = tools.map { $0.filter { names.contains($0) } } ?? names
        return server
    }

    /// Whether the client wants to be asked before calls of a tool, as the server names it.
    public func isAsked(_ tool: String) -> Bool { approval.isAsked(tool) }

    /// The error for a server that has none of the tools at present.
    public var empty: RelayError {
        .unsupported(path, "the server has none of these tools at present; see `chatterd tools list`.")
    }

    /// The error for a server that the operator has not declared.
    public var unknown: RelayError {
        .unsupported(
            path,
            "the operator of chatterd has declared no server of tools with this name and this URL (CHATTERD_TOOLS).")
    }
}
