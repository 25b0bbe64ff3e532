import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

extension RelayError {
    /// Converts an error of the store. The store's message goes to the log only.
    init(_ error: PostgresError, otherwise code: Code) {
        if error.sqlState == UsageStatements.refusal, let exceeded = ExceededLimit(refusal: error.message) {
            self.init(exceeded)
        } else if error.sqlState == AttachmentStatements.refusal {
            self.init(attachmentsBeyond: error.message)
        } else if error.isStoreUnavailable {
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
    /// Whether the store is unreachable, too slow or read-only, so that a later attempt may succeed.
    fileprivate var isStoreUnavailable: Bool {
        switch code {
        case .connectionFailed, .connectionLost, .timedOut, .overloaded, .shuttingDown, .readOnly,
            .serializationFailure,
            .insufficientResources:
            true
        default: false
        }
    }
}
