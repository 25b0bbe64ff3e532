/// Whether a model can answer.
#if hasAttribute(nonexhaustive)
    @nonexhaustive(warn)
#endif
public enum Availability: Sendable, Hashable {
    /// Why it cannot.
    #if hasAttribute(nonexhaustive)
        @nonexhaustive(warn)
    #endif
    public enum Reason: Sendable, Hashable {
        /// No key was given, and its server wants one.
        case apiKeyMissing
        /// Its server does not answer: no network, a wrong address, or it is down.
        case unreachable(String)
        /// Its server does not have the model.
        case modelNotFound
        /// The model is being loaded.
        case modelNotReady
        /// This device or system cannot run it.
        case deviceNotSupported
        /// The user has turned it off.
        case notEnabled
        case other(String)
    }

    case available
    case unavailable(Reason)
    /// From 0 to 1.
    case downloading(progress: Double)
}
