import ChatterdPostgres
import ChatterdRelay

/// Rows of the journal, as one array for each column.
struct JournalColumns {
    private(set) var appIDs = ParameterArray()
    private(set) var numbers = ParameterArray()
    private(set) var replies = ParameterArray()
    private(set) var attempts = ParameterArray()
    private(set) var textStarts = ParameterArray()
    private(set) var thinkingStarts = ParameterArray()
    private(set) var callStarts = ParameterArray()
    private(set) var texts = ParameterArray()
    private(set) var thoughts = ParameterArray()
    private(set) var calls = ParameterArray()
    /// The size of the texts, thoughts and calls, in bytes.
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
}
