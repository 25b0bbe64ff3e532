/// A conversation whose title or messages have the text that a client searches.
public struct SearchHit: Sendable {
    public let entry: CatalogueEntry
    /// The first matching messages.
    public let matches: [Match]

    /// A message with the text.
    public struct Match: Sendable, Equatable {
        public let seq: Int64
        public let role: String
        /// The part of the message around the text.
        public let excerpt: String
    }
}
