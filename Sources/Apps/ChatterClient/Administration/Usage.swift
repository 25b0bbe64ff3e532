/// The requests and tokens of the last days.
public struct Usage: Sendable, Hashable, Decodable {
    /// A day (UTC).
    public struct Day: Sendable, Hashable, Decodable {
        public let day: String
        public let requests: Int
        public let promptTokens: Int
        public let answerTokens: Int
        public let running: Int
    }

    public let key: String?
    public let app: String?
    public let person: String?
    /// Today and the earlier days with use, the newest first.
    public let days: [Day]
}
