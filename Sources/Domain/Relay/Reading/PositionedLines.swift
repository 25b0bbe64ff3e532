import ChatterdBasics
import ChatterdChat

/// Lines of a reply that follow each other, with the position after each. Borrowed for a call.
public struct PositionedLines: ~Escapable {
    private let bytes: Span<UInt8>
    /// The lines; none if `bytes` is the only line.
    private let tokens: Span<TokenLine>
    /// The bytes of text after each of the `tokens`.
    private let textEnds: Span<Int>
    /// The position after the last line.
    public let end: ReplyPosition

    /// Creates one line.
    @_lifetime(copy line)
    public init(_ line: Span<UInt8>, to end: ReplyPosition) {
        bytes = line
        tokens = Span()
        textEnds = Span()
        self.end = end
    }

    /// Creates the lines of a run; `textEnds` has the bytes of text after each of its tokens.
    @_lifetime(copy run, copy textEnds)
    init(_ run: LineRun, textEnds: Span<Int>, to end: ReplyPosition) {
        self.init(run.bytes, run.tokens, textEnds, end)
    }

    @_lifetime(copy bytes, copy tokens, copy textEnds)
    private init(_ bytes: Span<UInt8>, _ tokens: Span<TokenLine>, _ textEnds: Span<Int>, _ end: ReplyPosition) {
        self.bytes = bytes
        self.tokens = tokens
        self.textEnds = textEnds
        self.end = end
    }

    /// The number of lines.
    public var count: Int { max(tokens.count, 1) }

    /// The bytes of all lines.
    public var size: Int {
        guard !tokens.isEmpty else { return bytes.count }
        var size = 0
        for index in 0..<tokens.count { size &+= tokens[index].count }
        return size
    }

    /// A line, without its line end.
    @_lifetime(copy self)
    public func line(at index: Int) -> Span<UInt8> {
        tokens.isEmpty ? bytes : tokens[index].line(in: bytes)
    }

    /// Whether the lines are tokens: they have text, and no other part of an answer. A single line may have any shape.
    public var areTokens: Bool { !tokens.isEmpty }

    /// The inside of the string `message.content` of one of several tokens.
    @_lifetime(copy self)
    public func text(ofToken index: Int) -> Span<UInt8> { tokens[index].text(in: bytes) }

    /// The position after a line.
    public func position(after index: Int) -> ReplyPosition {
        guard !tokens.isEmpty else { return end }
        var position = end
        position.text = textEnds[index]
        return position
    }

    /// The lines from an index on, one at least.
    @_lifetime(copy self)
    func from(_ index: Int) -> PositionedLines {
        tokens.isEmpty
            ? self : PositionedLines(bytes, tokens.extracting(index...), textEnds.extracting(index...), end)
    }
}
