/// The outcome of a test of a model server.
public struct ModelServerTest: Sendable, Hashable, Decodable {
    public let ok: Bool
    public let models: [String]
    /// The model that was asked, and its first token.
    public let model: String?
    public let reply: String?
    public let problem: String?
}
