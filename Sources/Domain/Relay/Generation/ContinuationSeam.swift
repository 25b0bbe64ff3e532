import ChatterdBasics
import ChatterdChat

/// The point where one model server continues the text of another. The seam removes repeated text there.
struct ContinuationSeam {
    /// The decision on the text after the seam.
    enum Outcome: Equatable {
        /// The seam needs more of the text.
        case hold
        /// The text continues with these bytes; the seam holds no more text.
        case continues([UInt8])
        /// The server starts the answer again or sends no text, so its text must not follow.
        case fails
    }

    /// The number of equal bytes that prove a repetition of the start, and the minimum text that a server can continue.
    static let minimumOverlap = 24
    /// Limit of white space before the first word, in bytes.
    static let whiteSpaceLimit = 1_024

    private let start: [UInt8]
    private let whiteSpace: [UInt8]
    private var held: [UInt8] = []

    /// Creates the seam at the end of a text.
    init(after text: [UInt8]) {
        start = Array(text.prefix(Self.minimumOverlap))
        whiteSpace = Array(text.reversed().prefix { Self.isWhiteSpace($0) }.reversed())
    }

    /// The text without the white space at its end, as the next server gets it.
    static func trimmed(_ text: [UInt8]) -> [UInt8] {
        Array(text.prefix(text.count - text.reversed().prefix { isWhiteSpace($0) }.count))
    }

    /// Decides on a line of the continuation.
    mutating func outcome(of line: Span<UInt8>, _ fields: AnswerLine) -> Outcome {
        var outcome = Outcome.hold
        if let content = fields.content, !content.range.isEmpty {
            var text = ByteBuffer()
            text.append(decodingJSON: line.extracting(content.range))
            outcome = append(text.array)
        }
        guard outcome == .hold else { return outcome }
        if fields.toolCalls != nil { return .continues(rest) }
        return fields.isDone ? end() : .hold
    }

    /// Decides on a piece of the text.
    mutating func append(_ piece: [UInt8]) -> Outcome {
        held += piece
        if repeatsStart, held.count >= start.count { return .fails }
        // White space alone is no text yet, and the end of the old text may have some of it.
        if isBlank { return held.count > Self.whiteSpaceLimit ? .fails : .hold }
        return repeatsStart ? .hold : .continues(rest)
    }

    /// Decides when no more text comes.
    ///
    /// An empty continuation does not complete a broken answer, and neither does a repetition of its start.
    func end() -> Outcome { isBlank || repeatsStart ? .fails : .continues(rest) }

    /// The held text, without the white space that already ends the old text.
    var rest: [UInt8] {
        Array(held.dropFirst(zip(held, whiteSpace).prefix { $0 == $1 }.count))
    }

    private var repeatsStart: Bool { zip(held, start).allSatisfy { $0 == $1 } }
    private var isBlank: Bool { held.allSatisfy { Self.isWhiteSpace($0) } }

    private static func isWhiteSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0D ~= byte }
}
