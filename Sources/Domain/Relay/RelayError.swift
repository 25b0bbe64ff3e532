import ChatterdBasics
import ChatterdChat
import ChatterdIdentity

/// The reason why a request to the relay, or a reply, failed.
public struct RelayError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The closed set of reasons; the raw values go to clients, and are listed in docs/api.md.
    public enum Code: Sendable, Equatable {
        /// The body of the request is not valid for the endpoint.
        case invalidRequest
        /// The database is unavailable, too slow or read-only.
        case storeUnavailable
        /// A limit on running or waiting replies is reached.
        case overloaded
        /// The conversation is longer than the limit for a history.
        case historyTooLarge
        /// The attachments of the app have reached their limit.
        case attachmentsFull
        /// The text of the app or of the person has reached its limit.
        case textFull
        /// The server is being stopped.
        case shuttingDown
        /// The answer was complete, but could not be stored.
        case replyNotStored
        /// `/llmprep` replaced the conversation while the answer was being generated.
        case conversationReplaced
        /// The process that generated the answer is dead, or no longer owns the turn.
        case interrupted
        /// The database has lost a part of the answer; the text before the gap is stored.
        case textLost
        /// The client stopped the reply, or left and did not return within the grace.
        case cancelled
        /// The reply does not exist, or belongs to another app.
        case replyNotFound
        /// The answer has restarted since the event with which a client of `/v1/responses` wants to go on.
        case responseRestarted
        /// The reply is running, or ended without an answer, so it cannot be chosen.
        case replyNotComplete
        /// The call of a tool does not wait for an approval, or has another answer.
        case callNotAsked
        /// A hook of the operator has refused the prompt.
        case promptRefused
        /// A hook of the operator has refused the answer.
        case answerRefused
        /// A hook of the operator has not answered, or not understood.
        case hookFailed
        /// The `Idempotency-Key` was used with another body before.
        case idempotencyKeyReused
        /// The conversation does not exist, or belongs to another owner.
        case conversationNotFound
        /// A conversation of this name exists already.
        case conversationExists
        /// Another prompt of the conversation is being answered, and the request asks not to wait.
        case conversationBusy
        /// The credential does not permit the request.
        case access(AccessError.Code)
        /// No model server has this name.
        case upstreamNotFound
        /// A model server with this name exists already.
        case upstreamExists
        /// No key of an app has this id.
        case keyNotFound
        /// A fault of the relay itself.
        case `internal`
        /// An error of the model server.
        case model(ModelError.Code)

        /// The code as clients see it.
        public var rawValue: String {
            switch self {
            case .invalidRequest: "invalid_request"
            case .storeUnavailable: "store_unavailable"
            case .overloaded: "overloaded"
            case .historyTooLarge: "history_too_large"
            case .attachmentsFull: "attachments_full"
            case .textFull: "text_full"
            case .shuttingDown: "shutting_down"
            case .replyNotStored: "reply_not_stored"
            case .conversationReplaced: "conversation_replaced"
            case .interrupted: "interrupted"
            case .textLost: "text_lost"
            case .cancelled: "cancelled"
            case .replyNotFound: "reply_not_found"
            case .responseRestarted: "response_restarted"
            case .replyNotComplete: "reply_not_complete"
            case .callNotAsked: "call_not_asked"
            case .promptRefused: "prompt_refused"
            case .answerRefused: "answer_refused"
            case .hookFailed: "hook_failed"
            case .idempotencyKeyReused: "idempotency_key_reused"
            case .conversationNotFound: "conversation_not_found"
            case .conversationExists: "conversation_exists"
            case .conversationBusy: "conversation_busy"
            case .access(let code): code.rawValue
            case .upstreamNotFound: "upstream_not_found"
            case .upstreamExists: "upstream_exists"
            case .keyNotFound: "key_not_found"
            case .internal: "internal"
            case .model(let code): code.rawValue
            }
        }

        /// Whether the same request may succeed if it is sent again.
        public var isRetryable: Bool {
            switch self {
            case .invalidRequest, .historyTooLarge, .attachmentsFull, .textFull, .conversationReplaced, .replyNotFound,
                .responseRestarted, .replyNotComplete, .callNotAsked, .promptRefused, .answerRefused,
                .idempotencyKeyReused,
                .conversationNotFound, .conversationExists, .upstreamNotFound, .upstreamExists, .keyNotFound:
                false
            case .access(let code): code == .issuerUnavailable || code == .rateLimited
            case .storeUnavailable, .overloaded, .shuttingDown, .replyNotStored, .interrupted, .textLost, .cancelled,
                .conversationBusy, .hookFailed, .internal:
                true
            case .model(let code): code.isRetryable
            }
        }

        /// All codes.
        public static var all: [Code] {
            [
                .invalidRequest, .storeUnavailable, .overloaded, .historyTooLarge, .attachmentsFull, .textFull,
                .shuttingDown, .replyNotStored, .conversationReplaced, .interrupted, .textLost, .cancelled,
                .replyNotFound,
                .responseRestarted, .replyNotComplete, .callNotAsked, .promptRefused, .answerRefused, .hookFailed,
                .idempotencyKeyReused, .conversationNotFound, .conversationExists, .conversationBusy, .upstreamNotFound,
                .upstreamExists, .keyNotFound, .internal,
            ] + AccessError.Code.allCases.map(Code.access) + ModelError.Code.allCases.map(Code.model)
        }
    }

    /// The reason for machines.
    public let code: Code
    /// The reason for the user: a sentence without secrets.
    public let message: String
    /// The details for the operator; only the log has them.
    public let detail: String
    /// The time after which the same request may succeed (`Retry-After`); `nil` if unknown.
    public var retryAfter: Duration?
    /// The reply that is running, for `conversationBusy`.
    public var reply: ReplyID? {
        get { if case .busy(let reply) = rest { reply } else { nil } }
        set { rest = newValue.map { .busy($0) } ?? .none }
    }
    /// The limit of the credential that refused the request.
    public var exceeded: ExceededLimit? {
        if case .exceeded(let limit) = rest { limit } else { nil }
    }
    /// The member of the request with the problem, such as `messages[2].content`.
    public var parameter: String? {
        get { if case .parameter(let name) = rest { name } else { nil } }
        set { rest = newValue.map { .parameter($0) } ?? .none }
    }
    private var rest = Rest.none

    /// The parts that errors of some codes have. In a box, because they are large, and every reply and every call that may fail has room for
    /// an error.
    private indirect enum Rest: Sendable, Equatable {
        case none
        case busy(ReplyID)
        case exceeded(ExceededLimit)
        case parameter(String)
    }

    /// Whether the store may have made the change, or may still make it, without a confirmation.
    public var isOutcomeUnknown = false

    public init(_ code: Code, _ message: String, detail: String = "") {
        self.code = code
        self.message = message
        self.detail = detail
    }

    /// Creates the error of a model server.
    public init(_ error: ModelError) {
        self.init(.model(error.code), error.message, detail: error.detail)
        retryAfter = error.retryAfter
    }

    /// Creates the error of a credential.
    public init(_ error: AccessError) {
        self.init(.access(error.code), error.message)
    }

    /// Creates `rateLimited`.
    public init(_ exceeded: ExceededLimit) {
        self.init(.access(.rateLimited), exceeded.message, detail: "limit: \(exceeded.name.rawValue)")
        rest = .exceeded(exceeded)
        retryAfter = .seconds(exceeded.reset)
    }

    /// Creates `overloaded` with the budget's sentence for the client.
    public init(overloading memory: MemoryBudget) {
        self.init(.overloaded, memory.refusal)
    }

    /// The code and the detail.
    public var description: String { "\(code.rawValue): \(detail.isEmpty ? message : detail)" }
}
