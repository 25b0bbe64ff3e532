import ChatterdBasics
import ChatterdChat

/// The last line of an answer, with what it says of the whole answer.
struct LastLine {
    /// The line as the reply ends with it.
    let bytes: [UInt8]
    /// The tokens of the request to the model server.
    let tokens: TokenCounts
    /// Whether the answer has reached its limit of tokens.
    let isCut: Bool

    /// - Parameters:
    ///   - bytes: the line as the reply ends with it.
    ///   - line: the line of the model server.
    ///   - source: the bytes of that line.
    init(_ bytes: [UInt8], _ line: AnswerLine, in source: Span<UInt8>) {
        self.bytes = bytes
        tokens = TokenCounts(prompt: line.promptTokens, answer: line.answerTokens)
        isCut = line.doneReason.map { source.extracting($0.range).isEqual(to: "length") } ?? false
    }
}

/// Tokens as a model server counts them; `nil` if it does not say.
public struct TokenCounts: Sendable, Equatable {
    public var prompt: Int?
    public var answer: Int?
}
