/// Options of a request. What is `nil` is not sent: the model's server decides.
public struct GenerationOptions: Sendable, Hashable {
    /// How tokens are chosen.
    public struct SamplingMode: Sendable, Hashable {
        fileprivate enum Kind: Hashable {
            case greedy
            case top(Int)
            case probability(Double)
        }

        fileprivate let kind: Kind
        fileprivate let seed: UInt64?

        /// Always the most probable one.
        public static var greedy: SamplingMode { SamplingMode(kind: .greedy, seed: nil) }

        /// Among the most probable ones, by their number. The request has them as `top_k` and `seed`, which some servers refuse.
        public static func random(top count: Int, seed: UInt64? = nil) -> SamplingMode {
            SamplingMode(kind: .top(count), seed: seed)
        }

        /// Among the most probable ones that together have this probability. The request has the seed as `seed`.
        public static func random(probabilityThreshold: Double, seed: UInt64? = nil) -> SamplingMode {
            SamplingMode(kind: .probability(probabilityThreshold), seed: seed)
        }
    }

    public var sampling: SamplingMode?
    /// In the scale of the model's server, which is 0 to 2 as a rule.
    public var temperature: Double?
    public var maximumResponseTokens: Int?

    public init(sampling: SamplingMode? = nil, temperature: Double? = nil, maximumResponseTokens: Int? = nil) {
        self.sampling = sampling
        self.temperature = temperature
        self.maximumResponseTokens = maximumResponseTokens
    }

    /// The options of `Session`. A tool that fails ends the reply, as in FoundationModels.
    var replyOptions: LLMReplyOptions {
        var options = LLMReplyOptions(
            temperature: temperature, maximumTokens: maximumResponseTokens, toolFailure: .fail)
        switch sampling?.kind {
        case .greedy: options.samplingMode = .greedy
        case .top(let count): options.topK = count
        case .probability(let value): options.samplingMode = .topP(value)
        case nil: break
        }
        options.seed = sampling?.seed.map { Int(clamping: $0) }
        return options
    }
}
