import ChatterdDoors
import ChatterdRelay

/// The form in which a client of a door gets a reply.
struct DoorForm: Sendable {
    let translator: any ChatTranslator
    /// Whether the answer is streamed.
    let stream: Bool
    let includesUsage: Bool
    /// The requested model.
    let model: String
    /// The name of the conversation; `nil` for a request without an identity.
    let conversation: String?

    /// What was kept with the request; `nil` if nothing was.
    var kept: [UInt8]?
    /// Whether the client gets an answer at once, and the reply continues without it.
    var isBackground = false

    /// The context of the answer of a reply.
    func context(of id: ReplyID, at nanoseconds: Int64) -> AnswerContext {
        var context = AnswerContext(reply: id, model: model, createdAt: nanoseconds, includesUsage: includesUsage)
        context.kept = kept
        return context
    }
}
