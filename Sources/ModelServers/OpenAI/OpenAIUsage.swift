import ChatterdBasics
import ChatterdLanguageModels

/// The counts and times that a server tells at the end of an answer.
struct OpenAIUsage {
    private(set) var promptTokens: Int?
    private(set) var answerTokens: Int?
    /// Nanoseconds, from llama.cpp's `timings`.
    private(set) var promptDuration: Int?
    private(set) var answerDuration: Int?
    /// What `timings` count: used where there is no `usage`.
    private var evaluatedTokens: Int?
    private var predictedTokens: Int?

    /// Whether the tokens were told, and not only guessed from the timings.
    var hasCounts: Bool { promptTokens != nil || answerTokens != nil }

    /// The last line's part of it.
    func fill(_ end: inout AnswerEnd) {
        end.promptTokens = promptTokens ?? evaluatedTokens
        end.answerTokens = answerTokens ?? predictedTokens
        end.promptDuration = promptDuration
        end.answerDuration = answerDuration
    }

    /// Takes what another event has told.
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
                found.promptTokens = try reader.integerOrSkip()
            } else if reader.matches(key, "completion_tokens") {
                found.answerTokens = try reader.integerOrSkip()
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
                found.evaluatedTokens = try reader.integerOrSkip()
            } else if reader.matches(key, "cache_n") {
                cached = try reader.integerOrSkip() ?? 0
            } else if reader.matches(key, "predicted_n") {
                found.predictedTokens = try reader.integerOrSkip()
            } else if reader.matches(key, "prompt_ms") {
                found.promptDuration = try reader.millisecondsOrSkip()
            } else if reader.matches(key, "predicted_ms") {
                found.answerDuration = try reader.millisecondsOrSkip()
            } else {
                try reader.skipValue()
            }
        }
        found.evaluatedTokens = found.evaluatedTokens.map { $0 &+ cached }
        usage = found
    }
}

extension JSONReader {
    /// Passes a value of any type, and returns it if it is a whole number.
    mutating func integerOrSkip() throws(JSONError) -> Int? {
        if try kind() == .number { return try integer() }
        try skipValue()
        return nil
    }

    /// Passes a value of any type, and returns it in nanoseconds if it is a number of milliseconds.
    fileprivate mutating func millisecondsOrSkip() throws(JSONError) -> Int? {
        let isNumber = try kind() == .number
        let range = try skipValue()
        guard isNumber else { return nil }
        let text = bytes.extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        return Double(text).flatMap { Int(exactly: ($0 * 1_000_000).rounded()) }.flatMap { $0 >= 0 ? $0 : nil }
    }
}
