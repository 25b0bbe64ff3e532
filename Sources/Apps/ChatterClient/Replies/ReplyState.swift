/// How far a reply is: one of the constants, or a word of a later server. Keep a `default` in a `switch`.
public struct ReplyState: RawRepresentable, Sendable, Hashable, Codable {
    public static let streaming = ReplyState(rawValue: "streaming")
    public static let complete = ReplyState(rawValue: "complete")
    public static let failed = ReplyState(rawValue: "failed")
    public static let cancelled = ReplyState(rawValue: "cancelled")
    /// The server process that generated it died.
    public static let interrupted = ReplyState(rawValue: "interrupted")

    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}
