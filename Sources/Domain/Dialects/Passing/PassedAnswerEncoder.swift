import ChatterdBasics
import ChatterdRelay

/// Turns the bytes of a model server's answer into those of a door, in pieces of any size. Pure: no I/O and no clock.
public protocol PassedAnswerEncoder: Sendable {
    /// The type of a streamed answer. `nil` for an answer in one piece, whose output counts only after `end`, as JSON.
    var streamType: StreamType? { get }

    /// The bytes that the encoder holds.
    var heldSize: Int { get }

    /// Appends the output for a piece of the answer.
    mutating func append(_ bytes: Span<UInt8>, to output: inout ByteBuffer) throws(PassedAnswerProblem)

    /// Appends the rest of the output, when the body has ended.
    ///
    /// - Throws: `incomplete` if the answer is not over.
    mutating func end(to output: inout ByteBuffer) throws(PassedAnswerProblem)

    /// Appends the end of a stream with an error.
    func fail(_ error: RelayError, to output: inout ByteBuffer)
}

/// The reason why an answer cannot be passed on.
public enum PassedAnswerProblem: Error, Sendable, Equatable {
    /// The model server has reported an error, as this JSON.
    case reported([UInt8])
    /// The bytes are no such answer; the words complete "The model server's answer cannot be read:".
    case malformed(String)
    /// The body ended before the answer.
    case incomplete
}

extension PassedAnswerProblem {
    /// Checks that a text of a model server is a JSON object in UTF-8, and no error.
    static func check(_ object: Span<UInt8>) throws(PassedAnswerProblem) {
        var isError = false
        do throws(JSONError) {
            try JSONReader.validate(object)
            var reader = JSONReader(object)
            try reader.beginObject()
            while let key = try reader.nextKey() {
                let isNull = try reader.kind() == .null
                if reader.matches(key, "error"), !isNull { isError = true }
                try reader.skipValue()
            }
        } catch {
            throw .malformed("it is not a JSON object: \(error)")
        }
        if isError { throw .reported(object.array) }
    }
}
