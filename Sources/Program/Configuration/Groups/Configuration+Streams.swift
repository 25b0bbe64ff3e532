extension Configuration {
    /// How replies are sent to clients.
    public struct Streams: Sendable, Equatable {
        /// The silence on a stream after which a comment line is sent.
        public var keepAlive = Duration.seconds(15)
        /// Bytes kept for a slow client before its model server is paused.
        public var unsentLimit = 1 << 20
    }
}
