/// A point in the feed of a conversation: the id of an event.
///
/// Positions of one epoch are ordered by revision, then by number. Each event has its own position.
public struct FeedPosition: Sendable, Equatable {
    /// The limit of a text, in bytes.
    public static let longestText = 64

    /// Distinguishes the conversation from earlier ones of the same name.
    public var epoch: Int64
    /// The revision of the last change.
    public var revision: Int64
    /// The number (`seq`) of the last row that was added up to here.
    public var number: Int64

    public init(epoch: Int64, revision: Int64, number: Int64) {
        self.epoch = epoch
        self.revision = revision
        self.number = number
    }

    /// Parses `epoch-revision-number`; `nil` for any other text, even for other spellings of the same numbers.
    public init?(parsing text: String) {
        guard text.utf8.count <= Self.longestText else { return nil }
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, let epoch = Self.number(parts[0]), let revision = Self.number(parts[1]),
            let number = Self.number(parts[2])
        else { return nil }
        self.init(epoch: epoch, revision: revision, number: number)
    }

    private static func number(_ text: Substring) -> Int64? {
        guard text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let value = Int64(text), "\(value)" == text else {
            return nil
        }
        return value
    }

    /// The text of the position.
    public var text: String { "\(epoch)-\(revision)-\(number)" }
}
