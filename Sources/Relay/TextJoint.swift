import Bytes

/// The place where one model server goes on behind the text of another: sees to it that nothing is said twice there.
///
/// Servers trim white space at the end of what they go on with, and say it again; some begin from the start all the same.
struct TextJoint {
    /// What becomes of the text after the joint.
    enum Outcome: Equatable {
        /// More of it must be seen.
        case hold
        /// This is what goes on; nothing more is held.
        case continues([UInt8])
        /// It begins from the start, or says nothing: it must not be taken for what comes next.
        case fails
    }

    /// The bytes that must agree for a beginning to be taken for a repetition, and the least that can be gone on with.
    static let proof = 24
    /// The white space that is waited through for a word.
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
        // White space alone is no text yet, and some of it may have been said before.
        if isBlank { return held.count > Self.blankLimit ? .fails : .hold }
        return isLikeTheStart ? .hold : .continues(rest)
    }

    /// What becomes of it when nothing more comes.
    ///
    /// No text at all is no end of an answer that broke off in the middle: the server cannot go on. Nor is the beginning of the
    /// answer.
    func end() -> Outcome { isBlank || isLikeTheStart ? .fails : .continues(rest) }

    /// What is held, without the white space that stands before the joint already.
    var rest: [UInt8] {
        Array(held.dropFirst(zip(held, whiteSpace).prefix { $0 == $1 }.count))
    }

    private var isLikeTheStart: Bool { zip(held, start).allSatisfy { $0 == $1 } }
    private var isBlank: Bool { held.allSatisfy { Self.isWhiteSpace($0) } }

    private static func isWhiteSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0D ~= byte }
}
