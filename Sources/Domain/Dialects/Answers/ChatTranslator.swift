import ChatterdBasics
import ChatterdRelay

/// Writes the answers of one path: as a stream, and in one piece.
public protocol AnswerTranslator: Sendable {
    /// Makes the encoder of a streamed answer.
    func makeEncoder(_ context: AnswerContext) -> any AnswerEncoder

    /// Whether a stream ends with the last event of any ending, also of a failed and of a stopped answer, and a stopped answer is an answer
    /// in one piece as well. The head of a stream then need not wait for the answer. Otherwise such an ending is an error.
    var presentsAnyEnding: Bool { get }

    /// Whether the head of a stream waits until a model server works, although its events present any ending: an error before that, such as
    /// a model that does not exist, has a status.
    var waitsForModelServer: Bool { get }

    /// Appends an answer that is not streamed.
    func append(_ answer: WholeAnswer, _ context: AnswerContext, to body: inout ByteBuffer)
}

extension AnswerTranslator {
    var presentsAnyEnding: Bool { false }
    var waitsForModelServer: Bool { false }
}

/// Translates requests to a model, and their answers, for one path of a door.
public protocol ChatTranslator: AnswerTranslator {
    /// What happens to each member of a request.
    var fields: [DoorField] { get }

    /// Translates the body of a request.
    ///
    /// - Throws: `invalidRequest`, with the member; `replyNotFound` for an id that no reply has.
    func request(_ body: [UInt8], _ policy: DoorPolicy) throws(RelayError) -> DoorRequest
}
