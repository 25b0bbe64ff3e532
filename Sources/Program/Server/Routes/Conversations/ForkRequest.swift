import ChatterdChat
import ChatterdIdentity
import ChatterdRelay

/// The body of `POST /conversations/:c/fork`; an empty body has no member.
struct ForkRequest {
    /// The last reply of the copy; `nil` for the branch of the next prompt.
    let reply: ReplyID?
    /// The name of the copy; `nil` for one that the server chooses.
    let conversation: String?
    /// The title of the copy; `nil` for that of the source.
    let title: String?

    /// Decodes a body. Null counts as absent.
    ///
    /// - Throws: `invalidRequest` with the rule that the body breaks.
    init(_ body: [UInt8]) throws(RelayError) {
        let object = try RequestObject(body, members: ["reply", "conversation", "title"])
        reply = try object.name("reply", upTo: ReplyID.textLength).map { text throws(RelayError) in
            guard let id = ReplyID(parsing: text) else {
                throw RelayError(.invalidRequest, "reply must be the id of a reply.")
            }
            return id
        }
        conversation = try object.name("conversation", upTo: ConversationKey.maximumNameLength)
        title = try object.name("title", upTo: ConversationTitle.maximumLength)
    }
}
