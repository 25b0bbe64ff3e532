import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// Where the messages of a client that sends its whole history belong in the history of a conversation.
///
/// The common beginning is recognised, and what follows is new. The model gets no message that the client has not sent: docs/doors.md, "Memory".
public struct HistoryMatch: Sendable, Equatable {
    /// What the new messages follow. It is always named: the turn that is the last one when they are stored may be of another chat.
    public enum Parent: Sendable, Equatable {
        /// A reply.
        case reply(ReplyID)
        /// The messages before all turns.
        case start
    }

    /// The index of the first new message in the request.
    public let firstNew: Int
    public let parent: Parent
    /// The reply whose prompt ends the request, if the request is the history up to that prompt: the client wants another answer to it. `nil`
    /// for any other request.
    public let repeated: ReplyID?

    /// Compares the messages of a request, one at least, with the history of a conversation.
    ///
    /// - Returns: `nil` if the request differs from the messages before all turns, which no branch can replace.
    public init?(of request: [ModelMessage], in history: [StoredMessage]) {
        guard !request.isEmpty else { return nil }
        let common = zip(request, history).prefix { HistoryDigest(of: $0) == HistoryDigest(of: $1.message) }.count
        repeated = common == request.count && common < history.count ? history[common].reply : nil
        // The last end of a turn in the common beginning that leaves a message to ask with.
        let limit = min(common, request.count - 1)
        if let end = history[..<limit].lastIndex(where: { $0.reply != nil }), let id = history[end].reply {
            (firstNew, parent) = (end + 1, .reply(id))
            return
        }
        let seeded = history.prefix { $0.place == .seeded }.count
        guard seeded <= limit else { return nil }
        (firstNew, parent) = (seeded, .start)
    }
}

extension StoredMessage {
    fileprivate var reply: ReplyID? {
        if case .reply(let id) = place { id } else { nil }
    }
}
