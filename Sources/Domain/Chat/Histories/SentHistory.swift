import ChatterdBasics
import ChatterdIdentity

/// The history that a client sends with a prompt, as far as a stored turn can end in it.
public struct SentHistory: Sendable {
    /// The number of answers, from the last one back, at which a stored turn is looked for.
    public static let maximumEnds = 64

    /// A place behind an answer, with the history up to it.
    public struct End: Sendable, Equatable {
        public let digest: HistoryDigest
        /// The number of messages before the place.
        public let count: Int
    }

    /// The places at which a stored turn may end, the last one first: behind an answer that other messages follow.
    public let ends: [End]
    /// The number of messages of the system before all others, which do not count; `nil` if they count like all others, because one has more
    /// than text or nothing follows them.
    public let instructions: Int?
    /// The digest of all messages.
    public let digest: HistoryDigest

    /// Reads the messages of a request.
    ///
    /// - Parameter chat: the name that the client's program has for the chat; `nil` for none.
    public init(_ messages: [ModelMessage], of owner: Owner, chat: String? = nil) {
        let leading = messages.prefix { MessageRole($0.role.utf8.span) == .system }
        let isText = leading.count < messages.count && leading.allSatisfy { $0.extras == nil }
        instructions = isText ? leading.count : nil
        var digest = HistoryDigest(of: owner, chat: chat)
        var ends: [End] = []
        for (index, message) in messages.enumerated().dropFirst(instructions ?? 0) {
            digest = digest.followed(by: message)
            if message.role == "assistant", index + 1 < messages.count {
                ends.append(End(digest: digest, count: index + 1))
            }
        }
        self.digest = digest
        self.ends = ends.suffix(Self.maximumEnds).reversed()
    }

    /// The members in which a request keeps its history, for the end of its reply, and its messages of the system that do not count: its
    /// model gets them in the place of the stored ones.
    ///
    /// - Parameter messages: those of `init`.
    public func members(of messages: [ModelMessage]) -> [RawMember] {
        let system = instructions.map { messages.prefix($0).map(\.content).joined(separator: "\n\n") }
        return [RawMember(history: digest)] + (system.map { [RawMember(system: $0)] } ?? [])
    }
}
