import ChatterdBasics

/// Lines of an answer that follow each other: one line of any shape, or several that differ in `created_at` and `message.content`
/// alone. Borrowed for a call. docs/decisions/0039-lines-in-runs.md.
public struct LineRun: ~Escapable {
    /// The maximum number of lines. Their table has less than 1 KiB: what Swift puts on the stack.
    public static let limit = 40
    /// The number of bytes after which a run ends with the line that reaches it.
    public static let size = 16 * 1024

    /// The bytes of the line, or the bytes that include the lines.
    public let bytes: Span<UInt8>
    /// The lines; none if `bytes` is the only line.
    public let tokens: Span<TokenLine>
    /// The fields of the only line, or of a line that differs from each one in the two strings.
    private let example: AnswerLine

    /// Creates a run of one line.
    @_lifetime(copy line)
    public init(line: Span<UInt8>, fields: AnswerLine) {
        bytes = line
        tokens = Span()
        example = fields
    }

    /// Creates a run of the lines in a table, one at least. `example` has the fields of a plain token (`AnswerLine.isPlainToken`).
    @_lifetime(copy bytes, copy tokens)
    public init(_ bytes: Span<UInt8>, tokens: Span<TokenLine>, like example: AnswerLine) {
        self.bytes = bytes
        self.tokens = tokens
        self.example = example
    }

    /// The number of lines.
    public var count: Int { max(tokens.count, 1) }

    /// The fields of the only line, which may have any shape; `nil` if all lines are tokens.
    public var single: AnswerLine? { tokens.isEmpty ? example : nil }

    /// Whether the run is the last line of the answer.
    public var isDone: Bool { example.isDone }

    /// A line, without its line end.
    @_lifetime(copy self)
    public func line(at index: Int) -> Span<UInt8> {
        tokens.isEmpty ? bytes : tokens[index].line(in: bytes)
    }

    /// The fields of a line, as ranges of that line.
    public func fields(at index: Int) -> AnswerLine {
        guard !tokens.isEmpty, let time = example.createdAt?.range else { return example }
        let token = tokens[index]
        return AnswerLine(
            example, createdAt: JSONString(range: time.lowerBound..<token.timeEnd, hasEscapes: false),
            content: token.content)
    }

    /// The inside of the string `message.content` of a token.
    @_lifetime(copy self)
    public func text(ofToken index: Int) -> Span<UInt8> {
        let token = tokens[index]
        let start = token.range.lowerBound
        return bytes.extracting(
            (start &+ token.content.range.lowerBound)..<(start &+ token.content.range.upperBound))
    }

    /// Whether the text of a token has escapes.
    public func hasEscapes(inToken index: Int) -> Bool { tokens[index].content.hasEscapes }

    /// The bytes of text, reasoning and tool calls in a line, escapes included.
    public func answerSize(at index: Int) -> Int {
        guard tokens.isEmpty else { return tokens[index].content.range.count }
        return (example.content?.range.count ?? 0) + (example.thinking?.range.count ?? 0)
            + (example.toolCalls?.count ?? 0)
    }

    /// The bytes of text, reasoning and tool calls in all lines.
    public var answerSize: Int {
        var size = 0
        for index in 0..<count { size &+= answerSize(at: index) }
        return size
    }

    /// The first lines, one at least.
    @_lifetime(copy self)
    public func first(_ count: Int) -> LineRun {
        tokens.isEmpty ? self : LineRun(bytes, tokens: tokens.extracting(first: count), like: example)
    }

    /// The lines from an index on, one at least.
    @_lifetime(copy self)
    public func from(_ index: Int) -> LineRun {
        tokens.isEmpty ? self : LineRun(bytes, tokens: tokens.extracting(index...), like: example)
    }
}
