import ChatterdPostgres
import ChatterdRelay

/// Rows of the journal, column by column.
struct JournalColumns {
    private var appIDs = ParameterArray()
    private var numbers = ParameterArray()
    private var replies = ParameterArray()
    private var attempts = ParameterArray()
    private var textStarts = ParameterArray()
    private var thinkingStarts = ParameterArray()
    private var callStarts = ParameterArray()
    private var texts = ParameterArray()
    private var thoughts = ParameterArray()
    private var calls = ParameterArray()
    /// The bytes of text, thoughts and calls.
    private(set) var size = 0

    var isEmpty: Bool { appIDs.isEmpty }

    mutating func append(
        _ turn: Turn, _ id: ReplyID, from start: ReplyPosition, text: Span<UInt8>, thinking: Span<UInt8>,
        toolCalls: Span<UInt8>
    ) {
        appIDs.append(turn.appID)
        numbers.append(turn.number)
        replies.append(high: id.high, low: id.low)
        attempts.append(Int64(start.attempt))
        textStarts.append(Int64(start.text))
        thinkingStarts.append(Int64(start.thinking))
        callStarts.append(Int64(start.toolCalls))
        texts.append(utf8: text)
        thoughts.append(utf8: thinking)
        calls.append(utf8: toolCalls)
        size += text.count + thinking.count + toolCalls.count
    }

    mutating func removeAll() {
        appIDs.removeAll()
        numbers.removeAll()
        replies.removeAll()
        attempts.removeAll()
        textStarts.removeAll()
        thinkingStarts.removeAll()
        callStarts.removeAll()
        texts.removeAll()
        thoughts.removeAll()
        calls.removeAll()
        size = 0
    }

    /// The query that writes the rows of all these.
    static func query(_ all: [JournalColumns], holder: Parameter) -> Query {
        Query(
            JournalStatements.write, holder, .array(of: .text, all.map(\.appIDs)),
            .array(of: .int8, all.map(\.numbers)), .array(of: .uuid, all.map(\.replies)),
            .array(of: .int8, all.map(\.attempts)), .array(of: .int8, all.map(\.textStarts)),
            .array(of: .int8, all.map(\.thinkingStarts)), .array(of: .int8, all.map(\.callStarts)),
            .array(of: .text, all.map(\.texts)), .array(of: .text, all.map(\.thoughts)),
            .array(of: .text, all.map(\.calls)))
    }
}
