import ChatterClient

/// A reply in a conversation of a chatterd server, as the `id` of a message: `chatterd:` conversation `/` reply.
struct ChatterdPlace: Sendable {
    private static let prefix = "chatterd:"

    let conversation: String
    let reply: ReplyID
    /// The number of messages of the transcript up to this reply.
    private(set) var known = 0

    init(conversation: String, reply: ReplyID) {
        self.conversation = conversation
        self.reply = reply
    }

    /// The place of an id; `nil` for an id of another kind of server.
    init?(text: String) {
        guard text.hasPrefix(Self.prefix), let slash = text.lastIndex(of: "/") else { return nil }
        conversation = String(text.dropFirst(Self.prefix.count).prefix(upTo: slash))
        reply = ReplyID(String(text[text.index(after: slash)...]))
    }

    /// The last place in a transcript.
    init?(lastIn transcript: [Message]) {
        for (index, message) in transcript.enumerated().reversed() {
            guard case .ai(let message) = message else { continue }
            // A later message of another model is unknown to the server, and so is all that follows.
            guard let place = message.id.flatMap(ChatterdPlace.init(text:)) else { return nil }
            self = place
            known = index + 1
            return
        }
        return nil
    }

    var text: String { "\(Self.prefix)\(conversation)/\(reply.text)" }
}
