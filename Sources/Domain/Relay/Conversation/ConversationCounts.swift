/// The last counts of conversations by their servers, for a limited number of conversations.
struct ConversationCounts {
    /// The server's count of a prompt and of the answer to it.
    struct Count: Equatable {
        /// The bytes of text.
        var text: Int
        /// The bytes of text per token.
        var bytesPerToken: Double
        /// The tokens in all, frames of messages included.
        var tokens: Int
        /// Whether the count omits answers, because the server counts more tokens for them than their text has, for example hidden
        /// thoughts.
        var isWithoutAnswer = false
    }

    /// The number of conversations of a generation. The table keeps two generations.
    static let capacity = 5_000

    private var young: [Int: Count] = [:]
    private var old: [Int: Count] = [:]

    /// The last count of a conversation, by a hash of its name and model.
    subscript(key: Int) -> Count? {
        get { young[key] ?? old[key] }
        set {
            if young.count >= Self.capacity, young[key] == nil {
                old = young
                young = [:]
            }
            young[key] = newValue
            if newValue == nil {
                old[key] = nil
            }
        }
    }
}
