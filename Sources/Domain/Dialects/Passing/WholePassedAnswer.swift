import ChatterdBasics
import ChatterdRelay

/// An answer in one piece, which is translated when it is complete.
struct WholePassedAnswer: PassedAnswerEncoder {
    /// Appends the translation of an object without an error.
    typealias Translation = @Sendable (DoorMembers, inout ByteBuffer) throws(PassedAnswerProblem) -> Void

    private var body = ByteBuffer()
    /// `nil` for an answer that is passed on as it is.
    private let translate: Translation?

    init(_ translate: Translation? = nil) {
        self.translate = translate
    }

    var streamType: StreamType? { nil }
    /// The body, and its translation.
    var heldSize: Int { 3 * body.count }

    mutating func append(_ bytes: Span<UInt8>, to output: inout ByteBuffer) {
        body.append(bytes)
    }

    mutating func end(to output: inout ByteBuffer) throws(PassedAnswerProblem) {
        guard !body.isEmpty else { throw .incomplete }
        guard let translate else {
            try PassedAnswerProblem.check(body.bytes)
            output.append(body)
            return
        }
        try translate(try DoorMembers(answer: body.array), &output)
    }

    func fail(_ error: RelayError, to output: inout ByteBuffer) {}
}

extension DoorMembers {
    /// The members of the JSON object of a model server.
    ///
    /// - Throws: `reported` if it is an error, `malformed` if it is no JSON object.
    init(answer: [UInt8]) throws(PassedAnswerProblem) {
        try PassedAnswerProblem.check(answer.span)
        guard let members = (try? JSONSlice(answer))?.members() else {
            throw .malformed("it has more than \(DoorMembers.maximumMembers) members")
        }
        self = members
    }
}
