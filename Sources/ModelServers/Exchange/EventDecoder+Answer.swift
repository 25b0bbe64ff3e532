import ChatterdBasics
import ChatterdHTTP
import ChatterdLanguageModels

/// The event streams that answers come in.
extension EventDecoder {
    /// Makes a decoder of an answer, whose events have no longer lines than that.
    init(answerWithin limits: GenerationLimits, readsErrorField: Bool = false) {
        var events = EventLimits()
        events.line = limits.line
        events.data = limits.line
        self.init(limits: events, readsErrorField: readsErrorField)
    }

    /// Reads on to the end of an event; whether there is one.
    ///
    /// - Throws: `malformed` when it is longer than the limit.
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
