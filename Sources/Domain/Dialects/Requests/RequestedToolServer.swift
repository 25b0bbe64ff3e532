import ChatterdRelay

/// A server of tools that a request names. Only the operator declares servers: the request chooses among them.
public struct RequestedToolServer: Sendable {
    /// The name of the server.
    public let label: String
    /// The URL by which the client knows the server; `nil` if it does not say.
    public let url: String?
    /// The tools that the model gets, as the server names them; `nil` for all.
    public let tools: [String]?
    /// The path of the name in the request, for errors.
    let path: String

    /// The error for a server that the operator has not declared.
    public var unknown: RelayError {
        .unsupported(
            path,
            "the operator of chatterd has declared no server of tools with this name and this URL (CHATTERD_TOOLS).")
    }
}
