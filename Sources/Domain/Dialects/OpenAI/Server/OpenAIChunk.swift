import ChatterdBasics
import ChatterdChat

/// The fields of one event of an OpenAI stream, a chunk or a whole completion, as ranges of its data.
///
/// One walk checks all of it. Of several choices only the one with index 0 counts.
struct OpenAIChunk: AnswerPart {
    static var noun: String { "an event" }

    /// `delta.content`.
    private(set) var content: JSONString?
    /// `delta.reasoning_content`, `delta.reasoning` or `delta.thinking`, depending on the server.
    private(set) var thinking: JSONString?
    /// `delta.refusal`.
    private(set) var refusal: JSONString?
    /// `delta.tool_calls`, brackets included.
    private(set) var toolCalls: Range<Int>?
    /// `delta.function_call`, braces included: the form of calls before there were tools.
    private(set) var functionCall: Range<Int>?
    /// `logprobs.content`, brackets included.
    private(set) var logprobs: Range<Int>?
    /// Why the model stopped; `nil` for an empty text too.
    private(set) var finishReason: JSONString?
    /// The sequence of the request at which the model stopped: `stop_reason` of vLLM, `matched_stop` of SGLang. Both write the number of a
    /// token for another end.
    private(set) var stopSequence: JSONString?
    /// The token counts.
    private(set) var usage: OpenAIUsage?
    /// Whether the event reports an error.
    private(set) var isError = false
    private(set) var needsRepair = false

    init(_ data: Span<UInt8>) throws(JSONError) {
        var reader = JSONReader(data)
        var mayBeError = false
        var hasChoices = false
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "choices"), try reader.kind() == .array {
                hasChoices = true
                try readChoices(from: &reader)
            } else if reader.matches(key, "usage"), try reader.kind() == .object {
                try OpenAIUsage.readUsage(into: &usage, from: &reader)
            } else if reader.matches(key, "timings"), try reader.kind() == .object {
                try OpenAIUsage.readTimings(into: &usage, from: &reader)
            } else if reader.matches(key, "error") {
                isError = try AnswerLineError(from: &reader) != nil
            } else if reader.matches(key, "object") || reader.matches(key, "type") {
                if let word = try reader.stringOrSkip(), reader.matches(word, "error") { mayBeError = true }
            } else if reader.matches(key, "detail"), try reader.kind() != .null {
                mayBeError = true
                try reader.skipValue()
            } else {
                try reader.skipValue()
            }
        }
        try reader.finish()
        isError = isError || mayBeError && !hasChoices
        needsRepair = reader.hasUnstorableEscapes || reader.hasLineEnds || !UTF8Repair.isValid(data)
    }

    /// Whether the event has text and no other field, so that the next one is likely to differ in its text alone. Every field of this type
    /// must be here: the events after a plain token are read by `OpenAIChunkTemplate`, which sees none.
    var isPlainToken: Bool {
        content != nil && thinking == nil && refusal == nil && toolCalls == nil && functionCall == nil
            && logprobs == nil && finishReason == nil && stopSequence == nil && usage == nil && !isError && !needsRepair
    }

    private mutating func readChoices(from reader: inout JSONReader) throws(JSONError) {
        try reader.beginArray()
        var isFound = false
        while try reader.nextElement() {
            guard !isFound, try reader.kind() == .object else {
                try reader.skipValue()
                continue
            }
            var index: Int?
            try reader.beginObject()
            while let key = try reader.nextKey() {
                if reader.matches(key, "delta") || reader.matches(key, "message"), try reader.kind() == .object {
                    try readDelta(from: &reader)
                } else if reader.matches(key, "finish_reason") {
                    finishReason = try reader.textOrSkip()
                } else if reader.matches(key, "stop_reason") || reader.matches(key, "matched_stop") {
                    stopSequence = try reader.textOrSkip() ?? stopSequence
                } else if reader.matches(key, "logprobs"), try reader.kind() == .object {
                    try readLogprobs(from: &reader)
                } else if reader.matches(key, "index") {
                    index = try reader.integerOrSkip()
                } else {
                    try reader.skipValue()
                }
            }
            isFound = index ?? 0 == 0
            if !isFound { clearChoice() }
        }
    }

    /// Clears the fields of a choice that does not count.
    private mutating func clearChoice() {
        (content, thinking, refusal, finishReason, stopSequence) = (nil, nil, nil, nil, nil)
        (toolCalls, functionCall, logprobs) = (nil, nil, nil)
    }

    private mutating func readDelta(from reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "content") {
                content = try reader.stringOrSkip()
            } else if reader.matches(key, "reasoning_content") || reader.matches(key, "reasoning")
                || reader.matches(key, "thinking")
            {
                // Some servers write the same text under two names.
                thinking = try reader.textOrSkip() ?? thinking
            } else if reader.matches(key, "refusal") {
                refusal = try reader.textOrSkip()
            } else if reader.matches(key, "tool_calls") {
                toolCalls = try reader.arrayOrSkip()
            } else if reader.matches(key, "function_call") {
                let isObject = try reader.kind() == .object
                let range = try reader.skipValue()
                functionCall = isObject ? range : nil
            } else {
                try reader.skipValue()
            }
        }
    }

    private mutating func readLogprobs(from reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let isList = reader.matches(key, "content")
            let array = try reader.arrayOrSkip()
            if isList, let array { logprobs = array }
        }
    }
}
