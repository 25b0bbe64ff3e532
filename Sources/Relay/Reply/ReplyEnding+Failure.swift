import ChatterdBasics

extension ReplyEnding {
    /// The ending of a reply that did not come to its own: an `error` event, or a last line when it was stopped on purpose.
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
    public static let goneMeanwhile = RelayError(
        .conversationReplaced, "The conversation was replaced or deleted while the answer was being generated.")
    /// The journal of the reply has a gap: the database went back to an earlier state.
    public static let textLost = RelayError(
        .textLost, "The database lost the rest of this answer. The text before the loss is stored. Ask again.")
    /// Nobody reads the reply any more.
    static let abandoned = RelayError(.cancelled, "The client left, and did not come back in time.")
    /// Somebody wanted the reply to end.
    static let stopped = RelayError(.cancelled, "The reply was stopped.")
    /// Another process took the reply for that of a dead one, or gave it up as such.
    public static let takenMeanwhile = RelayError(
        .interrupted, "The server lost its hold on this answer while it was being made. Ask again.")
}
