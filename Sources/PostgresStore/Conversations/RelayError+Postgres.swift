import ChatterdPostgres
import ChatterdRelay

extension RelayError {
    /// The error of a store, without its words: those are for the log.
    init(_ error: PostgresError, otherwise code: Code) {
        if error.isStoreAway {
            self.init(
                .storeUnavailable, "The database cannot be reached. Try again in a moment.", detail: error.description)
            isOutcomeUnknown = !error.isSafeToRetry
        } else if code == .replyNotStored {
            self.init(code, "The answer could not be stored.", detail: error.description)
        } else {
            self.init(code, "The database refused to store this.", detail: error.description)
        }
    }
}

extension PostgresError {
    /// Whether the store as a whole is away, too slow or read-only: another time the same may succeed.
    fileprivate var isStoreAway: Bool {
        switch code {
        case .connectionFailed, .connectionLost, .timedOut, .overloaded, .shuttingDown, .readOnly,
            .serializationFailure,
            .insufficientResources:
            true
        default: false
        }
    }
}
