import ChatterdHTTP

/// A client of one chatterd server: prompts whose answers survive lost connections, conversations, models and keys.
///
///     let client = try ChatterClient(url: "http://127.0.0.1:8080", credential: .app("me"))
///     for try await event in client.answer(to: Prompt("Hello!", model: "echo")) {
///         if case .text(let text) = event { print(text, terminator: "") }
///     }
///
/// All errors are `ChatterError`. A task that is cancelled ends its request at once.
public struct ChatterClient: Sendable {
    /// The credential of each request.
    public let credential: Credential
    /// How long lost connections are resumed.
    public let retries: RetryPolicy
    /// The address of the server.
    public let address: String
    let transport: Transport

    /// Creates a client. It connects with the first request.
    ///
    /// - Parameters:
    ///   - url: the address of the server, with the prefix of a proxy if there is one: `https://chat.example/base`.
    ///   - credential: the app's name in open mode; else a key or client tokens.
    ///   - retries: how long lost connections are resumed.
    /// - Throws: `invalidURL`.
    public init(
        url: String, credential: Credential, retries: RetryPolicy = RetryPolicy()
    ) throws(ChatterError) {
        self.init(address: url, transport: try .system(to: url), credential: credential, retries: retries)
    }

    /// Creates a client of any transport.
    init(address: String, transport: Transport, credential: Credential, retries: RetryPolicy = RetryPolicy()) {
        self.address = address
        self.transport = transport
        self.credential = credential
        self.retries = retries
    }
}
