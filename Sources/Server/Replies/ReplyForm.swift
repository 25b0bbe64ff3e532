/// The form in which a client gets a reply.
enum ReplyForm: Sendable {
    /// One JSON object when the reply has ended.
    case object
    /// Events. If `showsQueue`, queue positions are events too.
    case events(showsQueue: Bool)

    init(stream: Bool, showsQueue: Bool) {
        self = stream ? .events(showsQueue: showsQueue) : .object
    }
}
