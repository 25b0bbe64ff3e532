import ChatterdBasics
import ChatterdChat

/// The fields of one event of Llama Stack's `/v1/inference/chat-completion`, as ranges of its data. One walk checks all of it.
struct LlamaStackEvent: AnswerPart {
    /// The state of a tool call.
    enum CallState {
        /// The beginning or a piece of the call; the whole call follows.
        case unfinished
        /// The whole call, as the object in `tool_call`.
        case whole(Range<Int>)
        /// Llama Stack could not parse the model's output as a call.
        case failed
    }

    static var noun: String { "an event" }

    /// Whether the event reports an error.
    private(set) var isError = false
    /// Whether the event is the last one.
    private(set) var isComplete = false
    /// A piece of the answer.
    private(set) var text: JSONString?
    /// A tool call, or a piece of one.
    private(set) var call: CallState?
    /// Whether the event has content that is neither text nor a call.
    private(set) var isForeign = false
    /// Whether the token limit ended the answer. The other reasons, `end_of_turn` and `end_of_message`, are regular ends.
    private(set) var isCut = false
    /// The tokens of the prompt.
    private(set) var promptTokens: Int?
    /// The tokens of the answer.
    private(set) var answerTokens: Int?

    private(set) var needsRepair = false

    init(_ data: Span<UInt8>) throws(JSONError) {
        var reader = JSONReader(data)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let isNull = try reader.kind() == .null
            if reader.matches(key, "event"), try reader.kind() == .object {
                try readEvent(from: &reader)
            } else if reader.matches(key, "metrics"), try reader.kind() == .array {
                try readMetrics(from: &reader)
            } else {
                if reader.matches(key, "error") || reader.matches(key, "detail") { isError = isError || !isNull }
                try reader.skipValue()
            }
        }
        try reader.finish()
        needsRepair = reader.hasUnstorableEscapes || reader.hasLineEnds || !UTF8Repair.isValid(data)
    }

    private mutating func readEvent(from reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "event_type") {
                isComplete = try reader.stringOrSkip().map { reader.matches($0, "complete") } == true
            } else if reader.matches(key, "stop_reason") {
                isCut = try reader.stringOrSkip().map { reader.matches($0, "out_of_tokens") } == true
            } else if reader.matches(key, "delta"), try reader.kind() == .object {
                try readDelta(from: &reader)
            } else {
                try reader.skipValue()
            }
        }
    }

    private mutating func readDelta(from reader: inout JSONReader) throws(JSONError) {
        var hasFailed = false
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "text") {
                text = try reader.stringOrSkip()
            } else if reader.matches(key, "tool_call") {
                let isWhole = try reader.kind() == .object
                let range = try reader.skipValue()
                call = isWhole ? .whole(range) : .unfinished
            } else if reader.matches(key, "parse_status") {
                hasFailed = try reader.stringOrSkip().map { reader.matches($0, "failed") } == true
            } else if reader.matches(key, "type") {
                isForeign =
                    try reader.stringOrSkip().map {
                        !reader.matches($0, "text") && !reader.matches($0, "tool_call")
                    } == true
            } else {
                try reader.skipValue()
            }
        }
        if hasFailed {
            call = .failed
        }
    }

    private mutating func readMetrics(from reader: inout JSONReader) throws(JSONError) {
        try reader.beginArray()
        while try reader.nextElement() {
            guard try reader.kind() == .object else {
                try reader.skipValue()
                continue
            }
            var name: JSONString?
            var value: Int?
            try reader.beginObject()
            while let key = try reader.nextKey() {
                if reader.matches(key, "metric") {
                    name = try reader.stringOrSkip()
                } else if reader.matches(key, "value") {
                    value = try reader.countOrSkip()
                } else {
                    try reader.skipValue()
                }
            }
            guard let name else { continue }
            if reader.matches(name, "prompt_tokens") {
                promptTokens = value
            } else if reader.matches(name, "completion_tokens") {
                answerTokens = value
            }
        }
    }
}
