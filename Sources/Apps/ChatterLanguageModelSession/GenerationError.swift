import ChatterdBasics

public import protocol Foundation.LocalizedError

extension LanguageModelSession {
    /// The reason why a model gives no answer, as FoundationModels names it. What it has no name for is thrown as `LLMError`: a lost
    /// connection, a wrong key, a server that failed.
    public enum GenerationError: Error, Sendable, LocalizedError {
        /// What a log should have.
        public struct Context: Sendable, Hashable {
            public let debugDescription: String

            public init(debugDescription: String) {
                self.debugDescription = debugDescription
            }
        }

        /// The words with which a model declined.
        public struct Refusal: Sendable, Hashable {
            /// The reason that the server gave.
            public let reason: String

            /// The reason; the model is not asked again.
            public var explanation: Response<String> {
                get async throws {
                    Response(content: reason, rawContent: GeneratedContent(reason), transcriptEntries: [])
                }
            }
        }

        /// The transcript is longer than the model's context.
        case exceededContextWindowSize(Context)
        /// The model cannot answer at all.
        case assetsUnavailable(Context)
        /// A filter withheld the answer.
        case guardrailViolation(Context)
        /// The answer is not of the form that was asked for, or has no end.
        case decodingFailure(Context)
        /// Too many requests.
        case rateLimited(Context)
        /// The session is answering another prompt.
        case concurrentRequests(Context)
        /// The model declined to answer.
        case refusal(Refusal, Context)

        /// A sentence for people.
        public var errorDescription: String? {
            switch self {
            case .exceededContextWindowSize(let context), .assetsUnavailable(let context),
                .guardrailViolation(let context), .decodingFailure(let context), .rateLimited(let context),
                .concurrentRequests(let context), .refusal(_, let context):
                context.debugDescription
            }
        }
    }

    /// A tool has failed, which ends the reply.
    public struct ToolCallError: Error, Sendable, LocalizedError {
        public var tool: any Tool
        public var underlyingError: any Error

        public init(tool: any Tool, underlyingError: any Error) {
            self.tool = tool
            self.underlyingError = underlyingError
        }

        public var errorDescription: String? {
            let reason = (underlyingError as? any LocalizedError)?.errorDescription ?? "\(underlyingError)"
            return "The tool \(tool.name) failed: \(reason)"
        }
    }

    /// The error as FoundationModels names it.
    static func error(for error: LLMError) -> any Error {
        let context = GenerationError.Context(debugDescription: error.message)
        return switch error {
        case .contextTooLong: GenerationError.exceededContextWindowSize(context)
        case .unavailable: GenerationError.assetsUnavailable(context)
        case .incomplete(.contentFilter): GenerationError.guardrailViolation(context)
        case .incomplete, .schemaViolation, .notJSON: GenerationError.decodingFailure(context)
        case .rateLimited: GenerationError.rateLimited(context)
        case .busy: GenerationError.concurrentRequests(context)
        case .refused(let reason): GenerationError.refusal(.init(reason: reason), context)
        case .cancelled: CancellationError()
        default: error
        }
    }
}

/// A tool whose failure is kept for `ToolCallError`.
struct WatchedTool<Base: Tool>: Tool {
    let base: Base
    let failures: ToolFailures

    static var parameters: Schema { Base.parameters }

    var name: String { base.name }
    var description: String { base.description }

    func call(arguments: Base.Arguments) async throws -> Base.Output {
        do {
            return try await base.call(arguments: arguments)
        } catch {
            failures.first.withLock { $0 = $0 ?? .init(tool: base, underlyingError: error) }
            throw error
        }
    }
}
