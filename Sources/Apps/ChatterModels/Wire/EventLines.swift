import ChatterdBasics
import ChatterdHTTP

/// The data of the events of a stream, as JSON.
struct EventLines: Sendable {
    /// One event.
    enum Line {
        case json(StructuredContent, event: String)
        /// `[DONE]`.
        case done
    }

    private var decoder = EventDecoder(readsErrorField: true)

    /// Calls `body` with each event of the bytes, until it returns `false`.
    mutating func read(_ bytes: Span<UInt8>, _ body: (Line) throws(LLMError) -> Bool) throws(LLMError) {
        var index = 0
        while try next(bytes, from: &index) {
            let data = decoder.data.array
            if data.elementsEqual("[DONE]".utf8) {
                guard try body(.done) else { return }
                continue
            }
            let json: StructuredContent
            do {
                json = try StructuredContent(json: data)
            } catch {
                throw .malformed("The model's server sent an event that is not JSON.")
            }
            if let error = json["error"], error != .null { throw LLMError(inStream: error) }
            guard try body(.json(json, event: decoder.name)) else { return }
        }
    }

    private mutating func next(_ bytes: Span<UInt8>, from index: inout Int) throws(LLMError) -> Bool {
        do throws(HTTPError) {
            return try decoder.next(bytes, from: &index)
        } catch {
            throw .malformed("The model's server sent an event stream that cannot be read: \(error.message)")
        }
    }
}
