import ChatterdBasics
import ChatterdChat

/// Encodes the content of a reply, from memory or from the store, as lines in Ollama's format.
///
/// A page yields its thinking, then its text, then its tool calls. The lines have the time at which the prompt was committed.
struct ReplyLines: Sendable {
    /// The maximum text of one line, in bytes.
    static let longestText = 16_384

    /// The model of the reply.
    let model: String
    /// The time in the lines, in nanoseconds since 1970.
    let createdAt: Int64

    /// Created for each line, because most readers are live and never need one.
    private var answer: AnswerLineWriter { AnswerLineWriter(model: model) }
    private var events: ReplyEvents { ReplyEvents(model: model) }

    /// Replaces the content of the buffer by the line of a page that follows `position`.
    ///
    /// - Returns: the position after the line; `nil` if the page has no more lines.
    func next(in page: ReplyPage, after position: ReplyPosition, into buffer: inout ByteBuffer) -> ReplyPosition? {
        buffer.removeAll()
        var end = position
        if let piece = Self.piece(of: page.thinking, at: end.thinking - page.start.thinking) {
            end.thinking += piece.count
            answer.append(
                thinking: Self.wholeCharacters(page.thinking.span.extracting(piece)), at: createdAt, to: &buffer)
            return end
        }
        if let piece = Self.piece(of: page.text, at: end.text - page.start.text) {
            end.text += piece.count
            answer.append(content: Self.wholeCharacters(page.text.span.extracting(piece)), at: createdAt, to: &buffer)
            return end
        }
        let offset = end.toolCalls - page.start.toolCalls
        guard offset >= 0, offset < page.toolCalls.count else { return nil }
        end.toolCalls += page.toolCalls.count - offset
        guard let array = Self.array(ofCalls: page.toolCalls.span.extracting(offset...)) else { return nil }
        answer.append(toolCalls: array.span, at: createdAt, to: &buffer)
        return end
    }

    /// The ending as it is sent after lines from a page. The last event has no text, because the page includes that text. If a
    /// process died before the last event, the function creates one.
    func ending(_ ending: ReplyEnding) -> ReplyEnding {
        var ending = ending
        if ending.lastEvent.isEmpty {
            ending.lastEvent = missingEvent(of: ending.state)
        } else if !ending.isError {
            ending.lastEvent = Self.emptied(ending.lastEvent)
        }
        return ending
    }

    /// The ending as it is sent after live lines: unchanged, or created if the reply has no last event.
    func verbatim(_ ending: ReplyEnding) -> ReplyEnding {
        ending.lastEvent.isEmpty ? self.ending(ending) : ending
    }

    // MARK: - Pieces

    /// The next whole characters of a part.
    private static func piece(of bytes: [UInt8], at offset: Int) -> Range<Int>? {
        guard offset >= 0, offset < bytes.count else { return nil }
        var end = min(bytes.count, offset + longestText)
        if end < bytes.count {
            while end > offset, bytes[end] & 0xC0 == 0x80 { end -= 1 }
        }
        return offset..<(end > offset ? end : min(bytes.count, offset + longestText))
    }

    /// A piece without the rest of a character at its start. A position that a client has invented can lead to such a rest.
    @_lifetime(copy bytes)
    private static func wholeCharacters(_ bytes: Span<UInt8>) -> Span<UInt8> {
        var start = 0
        while start < bytes.count, bytes[start] & 0xC0 == 0x80 { start += 1 }
        return bytes.extracting(start...)
    }

    /// The calls as a JSON array; `nil` if they are incomplete, because a client has invented its position.
    private static func array(ofCalls calls: Span<UInt8>) -> [UInt8]? {
        var array: [UInt8] = [UInt8(ascii: "[")]
        array.reserveCapacity(calls.count + 2)
        let first = calls[0] == UInt8(ascii: ",") ? 1 : 0
        calls.extracting(first...).withUnsafeBufferPointer { array.append(contentsOf: $0) }
        array.append(UInt8(ascii: "]"))
        return isJSON(array.span) ? array : nil
    }

    private static func isJSON(_ text: Span<UInt8>) -> Bool {
        do throws(JSONError) {
            var reader = JSONReader(text)
            try reader.skipValue()
            try reader.finish()
            return true
        } catch {
            return false
        }
    }

    // MARK: - The last event

    private static func emptied(_ bytes: [UInt8]) -> [UInt8] {
        let line: AnswerLine
        do throws(JSONError) {
            line = try AnswerLine(bytes.span)
        } catch {
            // A reply stores only lines that it has parsed, so this does not happen.
            return bytes
        }
        var buffer = ByteBuffer(capacity: bytes.count)
        buffer.append(emptying: line, in: bytes.span)
        return buffer.array
    }

    private func missingEvent(of state: ReplyState) -> [UInt8] {
        var buffer = ByteBuffer()
        switch state {
        case .complete:
            answer.appendEnd(at: createdAt, doneReason: "stop", promptTokens: nil, answerTokens: nil, to: &buffer)
        case .cancelled:
            events.appendStop(at: createdAt, state: state, to: &buffer)
        case .interrupted:
            events.appendError(Self.interruption, at: createdAt, to: &buffer)
        case .failed:
            events.appendError(Self.failure, at: createdAt, to: &buffer)
        }
        return buffer.array
    }

    private static let interruption = RelayError(
        .interrupted, "The server stopped in the middle of this answer. Ask again.")
    private static let failure = RelayError(.internal, "This answer failed. Ask again.")
}
