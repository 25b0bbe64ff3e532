import ChatterdJSONLog

extension Configuration {
    /// The content of the log.
    public struct Logging: Sendable, Equatable {
        /// How request lines show the appID.
        public var appID = Log.AppID.hash
    }
}
