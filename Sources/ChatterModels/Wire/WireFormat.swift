import ChatterClient

/// How a kind of model server is asked, and how it answers.
protocol WireFormat: Sendable {
    associatedtype Decoder: AnswerDecoder

    /// The path that lists the models, for `availability`.
    var listPath: String { get }

    func httpRequest(for request: GenerationRequest, model: String) -> ClientRequest

    /// A decoder of one answer.
    ///
    /// - Parameter callPrefix: the beginning of the ids of tool calls that the server gives no id.
    func makeDecoder(callPrefix: String) -> Decoder

    /// Whether a list of models permits requests for a model.
    func lists(_ model: String, in list: StructuredContent) -> Bool
}
