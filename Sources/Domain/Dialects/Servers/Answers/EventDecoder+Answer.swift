import ChatterdBasics
import ChatterdChat
import ChatterdHTTP

extension EventDecoder {
    /// Creates a decoder of an answer. Its lines and events have at most `limits.line` bytes.
    init(answerWithin limits: GenerationLimits, readsErrorField: Bool = false) {
        var events = EventLimits()
        events.line = limits.line
        events.data = limits.line
        self.init(limits: events, readsErrorField: readsErrorField)
    }

    /// Reads up to the end of the next event. Returns whether the bytes hold that end.
    ///
    /// - Throws: `malformed` if the event is longer than the limit.
    mutating func nextOfAnswer(
        _ bytes: Span<UInt8>, from index: inout Int, within limits: GenerationLimits
    ) throws(ModelError) -> Bool {
        do throws(HTTPError) {
            return try next(bytes, from: &index)
        } catch {
            throw .malformed("an event of it is longer than \(limits.line) bytes")
        }
    }
}
