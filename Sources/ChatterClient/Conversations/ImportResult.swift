/// The outcome of an import.
public struct ImportResult: Sendable, Hashable, Decodable {
    /// The name of the new conversation.
    public let conversation: String
    /// The number of stored rows so far.
    public let rows: Int
    /// Whether the last line of the file has come.
    public let complete: Bool
}
