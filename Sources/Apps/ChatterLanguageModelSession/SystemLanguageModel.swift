import ChatterFoundationModels
import ChatterdBasics

#if canImport(FoundationEssentials)
    public import struct FoundationEssentials.Locale
#else
    public import struct Foundation.Locale
#endif

/// The model that sessions use without naming one. An app says at its start which one that is:
///
///     SystemLanguageModel.use(try OllamaLLM(model: "llama3.2"))
///
/// Before, it is the model of the device (`SystemLLM`), which is unavailable where FoundationModels is missing.
public final class SystemLanguageModel: Sendable {
    /// What a model is made for. It has no effect here.
    public enum UseCase: Sendable, Hashable {
        case general, contentTagging
    }

    /// What a model refuses. It has no effect here: the server decides.
    public enum Guardrails: Sendable, Hashable {
        case `default`, permissiveContentTransformations
    }

    public enum Availability: Sendable, Hashable {
        public enum UnavailableReason: Sendable, Hashable {
            case deviceNotEligible, appleIntelligenceNotEnabled, modelNotReady
        }

        case available
        case unavailable(UnavailableReason)
    }

    private static let used = Lock<(any LLM)?>(nil)

    private let given: (any LLM)?

    /// The model of the app.
    public static var `default`: SystemLanguageModel { SystemLanguageModel() }

    /// Names the model that sessions of this app use from now on.
    public static func use(_ llm: any LLM) {
        used.withLock { $0 = llm }
    }

    public init(useCase: UseCase = .general, guardrails: Guardrails = .default) {
        given = nil
    }

    /// Any model.
    public init(_ llm: any LLM) {
        given = llm
    }

    /// The model itself, which knows whether its server can answer: `await model.llm.availability`.
    public var llm: any LLM { named ?? SystemLLM() }

    private var named: (any LLM)? { given ?? Self.used.withLock { $0 } }

    /// Whether the app has named a model, whose server is not asked; otherwise whether the model of the device can answer.
    public var availability: Availability {
        guard named == nil else { return .available }
        return switch SystemLLM().availability {
        case .available: .available
        case .unavailable(.deviceNotSupported): .unavailable(.deviceNotEligible)
        case .unavailable(.notEnabled): .unavailable(.appleIntelligenceNotEnabled)
        default: .unavailable(.modelNotReady)
        }
    }

    public var isAvailable: Bool { availability == .available }

    /// The language of the system only: a server does not say which languages its model knows.
    public var supportedLanguages: Set<Locale.Language> { [Locale.current.language] }

    /// Always true: a server does not say which languages its model knows.
    public func supportsLocale(_ locale: Locale = .current) -> Bool { true }
}
