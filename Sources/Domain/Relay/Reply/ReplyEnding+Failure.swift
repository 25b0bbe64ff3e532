import ChatterdBasics

extension ReplyEnding {
    /// Creates the ending of a failed or cancelled reply: an `error` event, or a last line if a client stopped the reply.
    init(_ failure: RelayError, model: String, at nanoseconds: Int64) {
        let events = ReplyEvents(model: model)
        var event = ByteBuffer()
        let state: ReplyState
        switch failure.code {
        case .cancelled:
            state = .cancelled
            events.appendStop(at: nanoseconds, state: state, to: &event)
        case .shuttingDown, .interrupted, .textLost:
            state = .interrupted
            events.appendError(failure, at: nanoseconds, to: &event)
        default:
            state = .failed
            events.appendError(failure, at: nanoseconds, to: &event)
        }
        self.init(state: state, lastEvent: event.array, cause: failure)
    }
}

extension RelayError {
    /// The conversation of a reply is gone.
    public static let conversationGone = RelayError(
        .conversationReplaced, "The conversation was replaced or deleted while the answer was being generated.")
    /// The journal of the reply has a gap: the database went back to an earlier state.
    public static let textLost = RelayError(
        .textLost, "The database lost the rest of this answer. The text before the loss is stored. Ask again.")
    /// The reply has had no reader for longer than the grace.
    static let abandoned = RelayError(.cancelled, "The client left, and did not come back in time.")
    /// A client has stopped the reply.
    static let stopped = RelayError(.cancelled, "The reply was stopped.")
    /// Another process has adopted or closed the reply, because it considered this process dead.
    public static let ownershipLost = RelayError(
        .interrupted, "Another process took over this answer or closed it. Ask again.")
}
