/// The ending of a reply.
public struct ReplyEnding: Sendable, Equatable {
    /// The final state.
    public var state: ReplyState
    /// The data of the last event: the line with `"done":true`, or the data of the `error` event; empty if the process died before the
    /// last event.
    public var lastEvent: [UInt8]
    /// The reason of a failure; not stored.
    public var cause: RelayError?

    public init(state: ReplyState, lastEvent: [UInt8], cause: RelayError? = nil) {
        self.state = state
        self.lastEvent = lastEvent
        self.cause = cause
    }

    /// Whether the last event is an `error` event; otherwise it is a line.
    public var isError: Bool { state == .failed || state == .interrupted }

    /// The ending with a last event: the stored one, or the one that its readers get without a stored one, which here has no model and no
    /// time.
    public var described: ReplyEnding { ReplyLines(model: "", createdAt: 0).verbatim(self) }
}
