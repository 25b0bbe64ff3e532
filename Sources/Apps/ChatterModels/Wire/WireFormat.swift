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

/// Reads the body of an answer in pieces of any size.
protocol AnswerDecoder: Sendable {
    /// Whether the last event has been found.
    var isOver: Bool { get }

    /// Reads bytes, and appends their events, those before an error too.
    mutating func receive(_ bytes: Span<UInt8>, _ events: inout ArraySlice<GenerationEvent>) throws(LLMError)

    /// The body has ended.
    mutating func end(_ events: inout ArraySlice<GenerationEvent>) throws(LLMError)
}

extension AnswerDecoder {
    /// A body that ends before its answer.
    static var cut: LLMError {
        .connectionLost("The model's server closed the connection before the end of its answer.")
    }
}
