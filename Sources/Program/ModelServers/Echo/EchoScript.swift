import ChatterdBasics
import ChatterdChat
import ChatterdDialects

/// An answer of the built-in model, decided before it begins: its pieces with the pauses before them, and its end.
struct EchoScript {
    /// A piece of an answer: one line.
    enum Piece: Equatable {
        case text(String)
        case thinking(String)
        /// A call of the tool with this name; `text` is the value of its one argument.
        case toolCall(name: String, text: String)
    }

    /// The number to which `echo:long` counts; its answer has 288,894 bytes.
    static let longCount = 50_000
    /// The numbers in one line of `echo:long`.
    static let longPiece = 50
    /// The time after which a stalled answer fails.
    static let stall = Duration.seconds(60)
    /// The delay that a busy model asks for.
    static let retryAfter = Duration.seconds(5)

    let pieces: [Piece]
    /// The pause before each piece.
    let interval: Duration
    /// The pause before the end.
    let lastInterval: Duration
    /// The failure at the end; `nil` for a complete answer.
    let failure: ModelError?

    /// Decides the answer.
    ///
    /// - Parameters:
    ///   - interval: the usual pause before a piece.
    ///   - tools: the names of the tools that the request offers.
    init(_ variant: EchoVariant, to messages: [ModelMessage], interval: Duration, tools: [String] = []) {
        let words = EchoModel.words(of: EchoModel.answer(to: messages)).map(Piece.text)
        failure = Self.failure(of: variant)
        switch variant {
        case .plain, .slow: pieces = words
        case .thinking:
            let thoughts = "The user wrote something. I am echo, so I repeat it. "
            pieces = EchoModel.words(of: thoughts).map(Piece.thinking) + words
        case .tool: pieces = Self.toolUse(messages, tools)
        case .long: pieces = Self.count
        case .markdown: pieces = EchoModel.words(of: Self.markdown).map(Piece.text)
        case .empty, .error, .refuse, .busy, .context: pieces = []
        case .cut, .stall: pieces = Array(words.prefix(words.count / 2))
        }
        switch variant {
        case .slow: self.interval = interval * 10
        case .long: self.interval = interval / 30
        default: self.interval = interval
        }
        lastInterval = variant == .stall ? max(Self.stall, interval) : self.interval
    }

    /// The failure of a variant; the hint says that it is one on demand, so that it ends the reply at once.
    private static func failure(of variant: EchoVariant) -> ModelError? {
        let name = variant.modelName
        var error: ModelError
        switch variant {
        case .plain, .slow, .thinking, .tool, .long, .markdown, .empty: return nil
        case .error: error = ModelError(.failed, "The model \(name) fails, as it always does.")
        case .refuse: error = ModelError(.rejected, "The model \(name) refuses each request.")
        case .busy:
            error = ModelError(.busy, "The model \(name) is busy, as it always is.")
            error.retryAfter = retryAfter
        case .context: error = ModelError(.contextTooLong, "Each conversation is too long for the model \(name).")
        case .cut: error = ModelError(.incomplete, "The model \(name) broke off in the middle of its answer.")
        case .stall:
            error = ModelError(.silenceTimeout, "The model \(name) stopped sending in the middle of its answer.")
        }
        error.hint = .onDemand
        return error
    }

    /// A call of the first offered tool, or an answer with the result of the call before.
    private static func toolUse(_ messages: [ModelMessage], _ tools: [String]) -> [Piece] {
        let last = messages.last
        if last?.role == "tool" {
            return EchoModel.words(of: "The tool returned: \(last?.content ?? "")").map(Piece.text)
        }
        return [.toolCall(name: tools.first ?? "echo", text: last?.content ?? "")]
    }

    private static var count: [Piece] {
        stride(from: 1, through: longCount, by: longPiece).map { first in
            .text((first..<first + longPiece).map { "\($0) " }.joined())
        }
    }

    private static let markdown = """
        # Heading

        A paragraph with *emphasis*, **strong emphasis**, `code` and a [link](https://example.org/).

        * A list
        * with a second item

        1. A numbered list
        2. with a second item

        > A quotation.

        ```swift
        print("Hello, world")
        ```

        | left | right |
        | :--- | ---: |
        | a | 1 |
        | b | 2 |

        ---

        The end.
        """
}
