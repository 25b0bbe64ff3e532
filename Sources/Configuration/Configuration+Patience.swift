import ChatterdJSONLog
import ChatterdRelay

extension Configuration {
    /// Waits that are no settings: whoever asks is to hear something soon. Tests make them longer than a busy machine needs.
    public struct Patience: Sendable, Equatable {
        /// How long a model server may take to list its models.
        public var listing = Duration.seconds(2)
        /// How long `/readyz` waits for the database: a probe gives up before the store's own time limit.
        public var readiness = Duration.seconds(2)
        /// How long whoever stops a reply waits for its end.
        public var stop = RelayLimits().stopPatience
        /// The longest time that a model server may ask to be left alone and still be waited for.
        public var retryAfter = RelayLimits().longestRetryAfter

        /// The usual ones.
        public init() {}
    }
}
