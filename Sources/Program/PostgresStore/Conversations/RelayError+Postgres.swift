import ChatterdBasics
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
        } else if let cause = error.cause {
            self.init(.storeUnavailable, "\(cause) Try again in a moment.", detail: error.description)
            isOutcomeUnknown = !error.isSafeToRetry
        } else if code == .replyNotStored {
            self.init(code, "The answer could not be stored.", detail: error.description)
        } else {
            self.init(code, "The database refused to store this.", detail: error.description)
        }
    }
}

extension PostgresError {
    /// Why the store does not serve a request that a later attempt may serve, for clients; `nil` for a refusal of the request itself.
    fileprivate var cause: String? {
        switch code {
        case .connectionFailed: "The database cannot be reached, or has no free connection."
        case .connectionLost: "The connection to the database was lost."
        case .timedOut: "The database did not answer in time."
        case .overloaded: "The database is busy: too many requests wait for it."
        case .shuttingDown: "The server is being stopped."
        case .readOnly: "The database takes no writes: it is a standby, or was set read-only."
        case .serializationFailure: "The database is busy with other changes of the same rows."
        case .insufficientResources:
            switch sqlState {
            case "53100": "The database has no disk space left."
            case "53200": "The database has no memory left."
            default: "The database has reached a limit of its own."
            }
        default: nil
        }
    }
}
