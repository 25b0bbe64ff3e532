import ChatterdBasics
import ChatterdChat

/// The counts and times that a server sends at the end of an answer.
struct OpenAIUsage {
    private(set) var promptTokens: Int?
    private(set) var answerTokens: Int?
    /// Nanoseconds, from llama.cpp's `timings`.
    private(set) var promptDuration: Int?
    private(set) var answerDuration: Int?
    /// The counts of `timings`, used if there is no `usage`.
    private var evaluatedTokens: Int?
    private var predictedTokens: Int?

    /// Whether `usage` has counts; the ones of `timings` alone do not end an answer.
    var hasCounts: Bool { promptTokens != nil || answerTokens != nil }

    /// Copies the counts and times into the last line.
    func fill(_ end: inout AnswerEnd) {
        end.promptTokens = promptTokens ?? evaluatedTokens
        end.answerTokens = answerTokens ?? predictedTokens
        end.promptDuration = promptDuration
        end.answerDuration = answerDuration
    }

    /// Adds the values of another event.
    mutating func merge(_ other: OpenAIUsage) {
        promptTokens = other.promptTokens ?? promptTokens
        answerTokens = other.answerTokens ?? answerTokens
        promptDuration = other.promptDuration ?? promptDuration
        answerDuration = other.answerDuration ?? answerDuration
        evaluatedTokens = other.evaluatedTokens ?? evaluatedTokens
        predictedTokens = other.predictedTokens ?? predictedTokens
    }

    static func readUsage(into usage: inout OpenAIUsage?, from reader: inout JSONReader) throws(JSONError) {
        var found = usage ?? OpenAIUsage()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "prompt_tokens") {
                found.promptTokens = try reader.countOrSkip()
            } else if reader.matches(key, "completion_tokens") {
                found.answerTokens = try reader.countOrSkip()
            } else {
                try reader.skipValue()
            }
        }
        usage = found
    }

    static func readTimings(into usage: inout OpenAIUsage?, from reader: inout JSONReader) throws(JSONError) {
        var found = usage ?? OpenAIUsage()
        var cached = 0
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "prompt_n") {
                found.evaluatedTokens = try reader.countOrSkip()
            } else if reader.matches(key, "cache_n") {
                cached = try reader.countOrSkip() ?? 0
            } else if reader.matches(key, "predicted_n") {
                found.predictedTokens = try reader.countOrSkip()
            } else if reader.matches(key, "prompt_ms") {
                found.promptDuration = try reader.millisecondsOrSkip()
            } else if reader.matches(key, "predicted_ms") {
                found.answerDuration = try reader.millisecondsOrSkip()
            } else {
                try reader.skipValue()
            }
        }
        found.evaluatedTokens = PeerCount.checked(found.evaluatedTokens.map { $0 + cached })
        usage = found
    }
}

extension JSONReader {
    /// Skips a value of any type. Returns it in nanoseconds if it is a number of milliseconds.
    fileprivate mutating func millisecondsOrSkip() throws(JSONError) -> Int? {
        let isNumber = try kind() == .number
        let range = try skipValue()
        guard isNumber else { return nil }
        let text = bytes.extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        return Double(text).flatMap { Int(exactly: ($0 * 1_000_000).rounded()) }.flatMap { $0 >= 0 ? $0 : nil }
    }
}
