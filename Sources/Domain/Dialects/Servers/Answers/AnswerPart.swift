import ChatterdBasics
import ChatterdChat

/// A JSON object of an answer (a line or an event), decoded by one walk over its text.
protocol AnswerPart {
    /// The name of the part in an error message, such as `a line`.
    static var noun: String { get }
    /// Whether the text must be rewritten before any of it can be stored: see `ByteBuffer.append(repairingJSON:)`.
    var needsRepair: Bool { get }
    /// Decodes a text.
    init(_ text: Span<UInt8>) throws(JSONError)
}

extension AnswerLine: AnswerPart {
    static var noun: String { "a line" }
}

extension AnswerPart {
    /// Decodes a text of a model server.
    ///
    /// - Throws: `malformed` if the text is not a JSON object.
    @inline(__always)
    init(received text: Span<UInt8>) throws(ModelError) {
        do throws(JSONError) {
            try self.init(text)
        } catch {
            throw .malformed("\(Self.noun) of it is not a JSON object", detail: "\(error)")
        }
    }

    /// Decodes a text of a model server, repairs it if it cannot be stored as it is, and passes the part and its text to `body`.
    ///
    /// - Throws: `malformed` if the text is not a JSON object, or the error of `body`.
    @inline(__always)
    static func decode<Result>(
        _ text: Span<UInt8>, _ body: (Self, Span<UInt8>) throws(ModelError) -> Result
    ) throws(ModelError) -> Result {
        let part = try Self(received: text)
        guard part.needsRepair else { return try body(part, text) }
        var repaired = ByteBuffer()
        repaired.append(repairingJSON: text)
        return try body(try Self(received: repaired.bytes), repaired.bytes)
    }
}
