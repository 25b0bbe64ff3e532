extension Log {
    /// How much an event matters.
    public enum Level: String, Sendable, CaseIterable {
        /// An expected event.
        case info
        /// The server copes, but the operator should look.
        case warning
        /// The server failed to do something that was asked for.
        case error
    }
}
