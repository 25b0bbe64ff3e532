import ChatterdBasics
import ChatterdChat

/// The parts of one line of an answer that clients get. Borrowed for a call.
struct AnswerParts: ~Escapable {
    private let line: Span<UInt8>
    private let fields: AnswerLine

    /// Reads a line. A reply passes only lines that it has read before, so a line that cannot be read has no parts.
    @_lifetime(copy line)
    init?(_ line: Span<UInt8>) {
        guard let fields = try? AnswerLine(line) else { return nil }
        self.line = line
        self.fields = fields
    }

    /// The inside of the JSON string of the text; empty without one.
    var text: Span<UInt8> {
        @_lifetime(copy self) get { inside(fields.content) }
    }

    /// The inside of the JSON string of the thoughts; empty without any.
    var thinking: Span<UInt8> {
        @_lifetime(copy self) get { inside(fields.thinking) }
    }

    var promptTokens: Int { fields.promptTokens ?? 0 }
    var answerTokens: Int { fields.answerTokens ?? 0 }

    /// Whether the answer has reached its limit of tokens.
    var isCut: Bool { inside(fields.doneReason).equals("length") }

    /// The range of `message` in the line.
    var message: Range<Int>? { fields.message }

    /// The range of `message.tool_calls` in the line; `nil` if there are none.
    var toolCalls: Range<Int>? { fields.toolCalls }

    /// The calls of tools as JSON objects with commas between them; empty if there are none.
    var toolCallElements: Span<UInt8> {
        @_lifetime(copy self) get {
            line.extracting(fields.toolCalls.map { ($0.lowerBound + 1)..<($0.upperBound - 1) } ?? 0..<0)
        }
    }

    /// Whether the line is an error, whose text is no part of the answer.
    var isError: Bool { fields.error != nil }

    /// Calls `body` with each call of a tool.
    func forEachCall(_ body: (borrowing AnswerToolCall) -> Void) {
        guard let calls = fields.toolCalls else { return }
        AnswerToolCall.forEach(in: line.extracting(calls), body)
    }

    @_lifetime(copy self)
    private func inside(_ string: JSONString?) -> Span<UInt8> {
        line.extracting(string?.range ?? 0..<0)
    }
}

extension Span<UInt8> {
    /// Whether the bytes are a text.
    fileprivate func equals(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        for index in 0..<count where self[index] != text.utf8Start[index] { return false }
        return true
    }
}
