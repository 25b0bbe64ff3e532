import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// Translates requests that are passed on to a model server outside of all conversations, and their answers, by the kind of that server.
///
/// A server of the kind `openai` gets the body of the client, with its own name for the model, and its answer comes back as it is.
public protocol PassTranslator: Sendable {
    /// What happens to each member of a request to a server of the kind `ollama`.
    var fields: [DoorField] { get }

    /// Whether an answer has tokens that count.
    var hasAnswerTokens: Bool { get }

    /// The path at servers of a kind, below their base path; `nil` if servers of the kind have none.
    func path(at kind: UpstreamDescription.Kind) -> String?

    /// The body of a request to a server of the kind `ollama` that has the model under `name`.
    func ollamaBody(of body: [UInt8], asking name: String) throws(RelayError) -> [UInt8]

    /// Makes the encoder of the answer of a server of a kind.
    ///
    /// - Parameter body: the body of the request, which was translated before.
    func makeEncoder(
        for body: [UInt8], at kind: UpstreamDescription.Kind, _ context: PassContext
    ) throws(RelayError) -> any PassedAnswerEncoder
}

/// What the answer to a request that is passed on says about the request.
public struct PassContext: Sendable {
    /// The id of the request.
    public let id: String
    /// The requested model.
    public let model: String
    /// The time of the request, in seconds since 1970.
    public let seconds: Int

    public init(id: String, model: String, seconds: Int) {
        self.id = id
        self.model = model
        self.seconds = seconds
    }
}
