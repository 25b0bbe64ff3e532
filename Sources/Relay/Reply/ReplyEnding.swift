/// How a reply ended.
public struct ReplyEnding: Sendable, Equatable {
    /// What became of it.
    public var state: ReplyState
    /// The data of the last event: the line with `"done":true`, or that of the `error` event; empty when the process died
    /// before there was one.
    public var lastEvent: [UInt8]
    /// Why it failed, where that happened; not stored.
    public var cause: RelayError?

    /// Makes an ending.
    public init(state: ReplyState, lastEvent: [UInt8], cause: RelayError? = nil) {
        self.state = state
        self.lastEvent = lastEvent
        self.cause = cause
    }

    /// Whether the last event is an `error` event; otherwise it is a line.
    public var isError: Bool { state == .failed || state == .interrupted }
}
