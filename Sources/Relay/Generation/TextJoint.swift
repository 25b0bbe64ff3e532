import ChatterdBasics

/// The place where one model server continues the text of another. The joint removes repeated text there.
struct TextJoint {
    /// The decision on the text after the joint.
    enum Outcome: Equatable {
        /// The joint needs more of the text.
        case hold
        /// The text continues with these bytes; the joint holds nothing more.
        case continues([UInt8])
        /// The server starts the answer again or sends no text, so the joint must not pass its text on.
        case fails
    }

    /// The number of equal bytes that prove a repetition of the start, and the minimum text that a server can continue.
    static let proof = 24
    /// Limit of white space before the first word, in bytes.
    static let blankLimit = 1_024

    private let start: [UInt8]
    private let whiteSpace: [UInt8]
    private var held: [UInt8] = []

    /// Makes the joint at the end of a text.
    init(behind text: [UInt8]) {
        start = Array(text.prefix(Self.proof))
        whiteSpace = Array(text.reversed().prefix { Self.isWhiteSpace($0) }.reversed())
    }

    /// The text without the white space at its end, as it is shown to who goes on with it.
    static func shown(_ text: [UInt8]) -> [UInt8] {
        Array(text.prefix(text.count - text.reversed().prefix { isWhiteSpace($0) }.count))
    }

    /// Takes a piece of what comes next.
    mutating func take(_ piece: [UInt8]) -> Outcome {
        held += piece
        if isLikeTheStart, held.count >= start.count { return .fails }
        // White space alone is no text yet, and the end of the old text may have some of it.
        if isBlank { return held.count > Self.blankLimit ? .fails : .hold }
        return isLikeTheStart ? .hold : .continues(rest)
    }

    /// The decision when no more text comes.
    ///
    /// An empty continuation does not complete a broken answer, and neither does a repetition of its start.
    func end() -> Outcome { isBlank || isLikeTheStart ? .fails : .continues(rest) }

    /// The held text, without the white space that already ends the old text.
    var rest: [UInt8] {
        Array(held.dropFirst(zip(held, whiteSpace).prefix { $0 == $1 }.count))
    }

    private var isLikeTheStart: Bool { zip(held, start).allSatisfy { $0 == $1 } }
    private var isBlank: Bool { held.allSatisfy { Self.isWhiteSpace($0) } }

    private static func isWhiteSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0D ~= byte }
}
