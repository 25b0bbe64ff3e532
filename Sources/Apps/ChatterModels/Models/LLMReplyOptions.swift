/// Options of a request. What is `nil` is not sent: the model's server decides.
public struct LLMReplyOptions: Sendable, Hashable {
    /// How tokens are chosen.
    public enum SamplingMode: Sendable, Hashable {
        /// Among the most probable ones that together have this probability.
        case topP(Double)
        /// Always the most probable one.
        case greedy
    }

    /// What a tool's failure leads to.
    public enum ToolFailure: Sendable, Hashable {
        /// The model gets the error as the result of the tool, and continues.
        case report
        /// The reply fails.
        case fail
    }

    /// In the scale of the model's server, which is 0 to 2 as a rule.
    public var temperature: Double?
    public var maximumTokens: Int?
    public var samplingMode: SamplingMode?
    /// Tokens are chosen among this number of the most probable ones: `top_k`, which some servers refuse.
    public var topK: Int?
    /// The same seed gives the same answer, as far as the server can: `seed`, which some servers refuse.
    public var seed: Int?
    public var toolFailure: ToolFailure
    /// How many messages with calls of tools a reply may have.
    public var maximumToolRounds: Int
    /// Members that the request to the model's server gets as they are: `keep_alive`, `logprobs` …
    public var backendOptions: [StructuredContent.Member]

    public init(
        temperature: Double? = nil, maximumTokens: Int? = nil, samplingMode: SamplingMode? = nil,
        topK: Int? = nil, seed: Int? = nil, toolFailure: ToolFailure = .report, maximumToolRounds: Int = 8,
        backendOptions: [StructuredContent.Member] = []
    ) {
        self.temperature = temperature
        self.maximumTokens = maximumTokens
        self.samplingMode = samplingMode
        self.topK = topK
        self.seed = seed
        self.toolFailure = toolFailure
        self.maximumToolRounds = maximumToolRounds
        self.backendOptions = backendOptions
    }

    /// Everything as the server decides.
    public static var `default`: LLMReplyOptions { LLMReplyOptions() }
}
