import Bytes
import LanguageModels

/// How a model server has been doing, for all shards of the process: after failures it is left alone for a while.
public final class UpstreamHealth: Sendable {
    /// What is known of it.
    public enum State: String, Sendable, CaseIterable {
        /// It answers, or has not been asked yet.
        case healthy
        /// It has failed, and is left alone.
        case coolingDown = "cooling_down"
        /// It has been left alone for long enough, and one reply tries it.
        case probing
    }

    /// Makes the health of one that has not been asked.
    public init() {}
}
