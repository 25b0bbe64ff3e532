/// What servers have counted of the conversations that they were sent last; of a limited number of conversations.
struct ConversationCounts {
    /// The text of a prompt, and of the answer to it, as a server has counted it.
    struct Count: Equatable {
        /// The bytes of text.
        var text: Int
        /// The bytes that one of its tokens has.
        var bytesPerToken: Double
        /// The tokens of all of it, frames of messages included.
        var tokens: Int
        /// Whether answers are left out: the server counts more for them than their text has, hidden thoughts for example.
        var isWithoutAnswer = false
    }

    /// The conversations of a generation. Two generations are kept.
    static let capacity = 5_000

    private var young: [Int: Count] = [:]
    private var old: [Int: Count] = [:]

    /// The last count of a conversation, by the hash of its name and of its model.
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
