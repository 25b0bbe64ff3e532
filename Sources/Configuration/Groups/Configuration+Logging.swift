import ChatterdJSONLog

extension Configuration {
    /// What the log shows.
    public struct Logging: Sendable, Equatable {
        /// How request lines show the appID.
        public var appID = Log.AppID.hash
    }
}
