import ChatterdBasics

/// Translates requests to a model, and their answers, for one path of a door.
public protocol ChatTranslator: Sendable {
    /// What happens to each member of a request.
    var fields: [DoorField] { get }

    /// Translates the body of a request.
    func request(_ body: [UInt8]) throws(DoorFault) -> DoorRequest

    /// Makes the encoder of a streamed answer.
    func makeEncoder(_ context: AnswerContext) -> any AnswerEncoder

    /// Whether an answer that was stopped can be presented as what it is. Otherwise it is an error.
    var presentsStoppedAnswers: Bool { get }

    /// Appends an answer that is not streamed.
    func append(_ answer: WholeAnswer, _ context: AnswerContext, to body: inout ByteBuffer)
}

extension ChatTranslator {
    var presentsStoppedAnswers: Bool { false }
}
