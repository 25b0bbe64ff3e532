import ChatterdPostgres
import ChatterdRelay

/// Rows of the journal, as one array for each column.
struct JournalColumns {
    private(set) var owned = OwnedColumns()
    private(set) var textStarts = ParameterArray()
    private(set) var thinkingStarts = ParameterArray()
    private(set) var callStarts = ParameterArray()
    private(set) var texts = ParameterArray()
    private(set) var thoughts = ParameterArray()
    private(set) var calls = ParameterArray()
    /// The size of the texts, thoughts and calls, in bytes.
    private(set) var size = 0

    var isEmpty: Bool { owned.isEmpty }

    mutating func append(
        _ turn: Turn, _ id: ReplyID, from start: ReplyPosition, text: Span<UInt8>, thinking: Span<UInt8>,
        toolCalls: Span<UInt8>
    ) {
        owned.append(turn, id, attempt: start.attempt)
        textStarts.append(Int64(start.text))
        thinkingStarts.append(Int64(start.thinking))
        callStarts.append(Int64(start.toolCalls))
        texts.append(utf8: text)
        thoughts.append(utf8: thinking)
        calls.append(utf8: toolCalls)
        size += text.count + thinking.count + toolCalls.count
    }

    mutating func removeAll() {
        owned.removeAll()
        textStarts.removeAll()
        thinkingStarts.removeAll()
        callStarts.removeAll()
        texts.removeAll()
        thoughts.removeAll()
        calls.removeAll()
        size = 0
    }
}
