import ChatterdBasics
import ChatterdIdentity

/// Which of several equal model servers a conversation prefers: the same one for each prompt, because that server's cache has the prompt
/// before.
///
/// Rendezvous hashing: each server has a weight for the conversation, and the greatest counts. All processes agree, and a server that is
/// added or removed changes the preference of its own share of the conversations only
/// (docs/decisions/0045-conversations-keep-their-server.md).
struct ServerAffinity {
    private static let prime: UInt64 = 0x0000_0100_0000_01b3

    private let hash: UInt64

    /// Creates the affinity of a conversation.
    init(of conversation: ConversationKey) {
        hash = Self.hash(conversation.text, from: 0xcbf2_9ce4_8422_2325)
    }

    /// The weight of a server, by its name.
    func weight(of server: String) -> UInt64 {
        // FNV-1a leaves the high bits of similar texts similar; the finalizer of SplitMix64 spreads them.
        SplitMix64.mixed(Self.hash(server, from: (hash ^ 0xFF) &* Self.prime))
    }

    /// FNV-1a, 64 bits: the same in all processes and versions, unlike `Hasher`.
    private static func hash(_ text: String, from start: UInt64) -> UInt64 {
        var hash = start
        for byte in text.utf8 {
            hash = (hash ^ UInt64(byte)) &* prime
        }
        return hash
    }
}
