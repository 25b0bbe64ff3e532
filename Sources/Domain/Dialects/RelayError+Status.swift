import ChatterdChat
import ChatterdHTTP
import ChatterdIdentity
import ChatterdRelay

extension RelayError.Code {
    /// The status of an error response: the one table.
    public var status: Status {
        switch self {
        case .invalidRequest, .historyTooLarge, .attachmentsFull, .textFull: .unprocessableContent
        case .storeUnavailable, .overloaded, .shuttingDown, .interrupted, .cancelled: .serviceUnavailable
        case .conversationReplaced, .conversationExists, .conversationBusy, .responseRestarted, .replyNotComplete,
            .callNotAsked,
            .idempotencyKeyReused,
            .upstreamExists:
            .conflict
        case .replyNotFound, .conversationNotFound, .upstreamNotFound, .keyNotFound: .notFound
        case .promptRefused: .forbidden
        case .answerRefused, .hookFailed: .badGateway
        case .access(let code):
            switch code {
            case .unauthorized: .unauthorized
            case .forbidden: .forbidden
            case .rateLimited: .tooManyRequests
            case .issuerUnavailable: .serviceUnavailable
            }
        case .replyNotStored, .textLost, .internal: .internalServerError
        case .model(let code):
            switch code {
            case .modelNotFound: .notFound
            case .rejected, .unsupported, .contextTooLong: .badRequest
            case .busy: .serviceUnavailable
            case .connectTimeout, .firstByteTimeout, .silenceTimeout, .totalTimeout: .gatewayTimeout
            case .unavailable, .answerTooLarge, .failed, .malformed, .incomplete, .formViolated, .unauthorized:
                .badGateway
            }
        }
    }
}
