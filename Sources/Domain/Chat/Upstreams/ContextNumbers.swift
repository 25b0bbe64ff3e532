import ChatterdBasics

/// The numbers in a server's message about a prompt that is too long.
public struct ContextNumbers {
    /// The context length of the model, in tokens; `nil` if the message does not have it.
    public private(set) var contextLength: Int?
    /// The tokens of the prompt; `nil` if the message does not have them.
    public private(set) var promptTokens: Int?

    /// Reads a message.
    public init(in message: String) {
        let words = Array(message.utf8.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 })
        contextLength = Self.contextPhrases.lazy.compactMap { Self.number(after: $0, in: words) }.first
        promptTokens =
            Self.promptEndings.lazy.compactMap { Self.number(before: $0, in: words) }.first
            ?? Self.promptPhrases.lazy.compactMap { Self.number(after: $0, in: words) }.first
    }

    /// The phrases of vLLM, OpenAI, llama-cpp-python; llama.cpp; vLLM again; Anthropic.
    private static let contextPhrases: [StaticString] = [
        "context length is ", "context length of ", "context size (", "context window of ", "maximum model length of ",
        "tokens > ",
    ]
    private static let promptPhrases: [StaticString] = [
        "at least ", "resulted in ", "prompt (length ", "prompt is too long: ", "request (", "you requested ",
    ]
    /// The share of the prompt counts more than the number of all requested tokens.
    private static let promptEndings: [StaticString] = [" input tokens", " in the messages"]

    private static func number(after phrase: StaticString, in words: [UInt8]) -> Int? {
        guard let found = range(of: phrase, in: words) else { return nil }
        return number(words[found.upperBound...].prefix { isNumeric($0) })
    }

    private static func number(before phrase: StaticString, in words: [UInt8]) -> Int? {
        guard let found = range(of: phrase, in: words) else { return nil }
        let start = words[..<found.lowerBound].lastIndex { !isNumeric($0) }.map { $0 + 1 } ?? 0
        return number(words[start..<found.lowerBound])
    }

    private static func range(of phrase: StaticString, in words: [UInt8]) -> Range<Int>? {
        let wanted = UnsafeBufferPointer(start: phrase.utf8Start, count: phrase.utf8CodeUnitCount)
        guard words.count >= wanted.count else { return nil }
        let start = (0...words.count - wanted.count).first { words[$0..<$0 + wanted.count].elementsEqual(wanted) }
        return start.map { $0..<$0 + wanted.count }
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        PeerCount.checked(Int(String(decoding: digits.filter { $0 != UInt8(ascii: ",") }, as: UTF8.self)))
    }

    private static func isNumeric(_ byte: UInt8) -> Bool {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || byte == UInt8(ascii: ",")
    }
}
