import ChatterdBasics
import ChatterdChat
import ChatterdIdentity

/// The known sizes of the models' contexts, and the estimates of tokens, learned from the counts of the servers. One object for
/// all shards of the process.
///
/// The estimates use no tokenizer: tokens are estimated from bytes, at a rate that is measured for each model.
public final class TokenEstimates: Sendable {
    /// The maximum number of known models.
    private static let capacity = 1_000
    /// The plausible bytes of text per token. A rate outside of these bounds does not measure text: the server omitted its cache,
    /// or counted more than the prompt.
    private static let usualRates = 1.0...8.0
    /// The minimum estimate of a prompt, in tokens, for a failure to count as a context error: half of the smallest default context
    /// of servers, because an estimate may be half of the truth.
    static let leastContext = 256
    /// The maximum context, in tokens. Larger claims of clients and servers are cut to it, so that no sum overflows.
    private static let longest = 1 << 40

    private struct Model: Hashable {
        var upstream: String
        var name: String
    }

    private struct Knowledge {
        var bytesPerToken = ContextWindow.usualBytesPerToken
        var counts = 0
        /// How many times in succession the server has counted a whole prompt although it had been sent most of it before.
        var wholeCounts = 0
        /// The context according to the server's refusal of a prompt.
        var refusalLimit: Int?
        /// The context according to the server's list of models.
        var listed: Int?
        /// The smallest estimate of a failed prompt whose shorter version the server accepted.
        var suspected: Int?

        var isMeasured: Bool { counts >= 3 }
        /// Whether the server's counts include the tokens that it has in a cache.
        var isWholeCounted: Bool { wholeCounts >= 3 }

        /// The minimum tokens of a prompt.
        func minimumTokens(of size: PromptSize) -> Int {
            // Without a measurement: tokens of text are no longer than 8 bytes on average, for any tokenizer.
            isMeasured ? size.fewestTokens(bytesPerToken: bytesPerToken) * 6 / 10 : size.fewestTokens(bytesPerToken: 8)
        }

        mutating func learn(_ measured: Double?) {
            guard let measured, TokenEstimates.usualRates ~= measured else { return }
            bytesPerToken += (measured - bytesPerToken) / 4
            counts += 1
        }
    }

    private struct State {
        var models: [Model: Knowledge] = [:]
        var conversations = ConversationCounts()
    }

    /// An answer of a single server, without thoughts and tool calls. The next prompt includes all of it.
    public struct Answer: Sendable {
        /// The bytes of its text.
        var text: Int
        /// The server's count of its tokens; 0 if it gave none.
        var tokens: Int

        public init(text: Int, tokens: Int) {
            self.text = text
            self.tokens = PeerCount.checked(tokens) ?? 0
        }
    }

    private let state = Lock(State())
    private let onCut: @Sendable (ModelTarget, PromptReport) -> Void

    /// Creates estimates without knowledge.
    ///
    /// - Parameter onCut: called on any shard for each answer to a prompt that the server seems to have cut by itself.
    public init(onCut: @escaping @Sendable (ModelTarget, PromptReport) -> Void = { _, _ in }) {
        self.onCut = onCut
    }

    /// The context window of a model, from the client's `options.num_ctx`, the operator's description and the server's statements.
    ///
    /// - Parameters:
    ///   - conversation: the conversation of the prompt. Its last count is part of the estimate.
    ///   - refused: the report of the prompt that the server has just refused as too long. The window is smaller than that prompt.
    public func window(
        for target: ModelTarget, passThrough: [RawMember], conversation: ConversationKey? = nil,
        refused: PromptReport? = nil
    ) -> ContextWindow {
        let (known, counted) = knowledge(of: target, in: conversation)
        let tokens = Self.contextLength(of: target.upstream.description, passThrough, known)
        var window = ContextWindow(
            tokens: tokens, bytesPerToken: known.bytesPerToken,
            reserve: tokens.map { Self.reserve(in: $0, target.upstream.description, passThrough) } ?? 0)
        window.isMeasured = known.isMeasured
        window.refusesTruncation = passThrough.refusesTruncation
        window.counted = counted
        window.overheadBytes = passThrough.reduce(0) {
            $0 + ($1.key == "tools" || $1.key == "format" ? $1.value.count : 0)
        }
        if let refused {
            if let counted = refused.promptTokens, let measured = refused.size.bytesPerToken(ofTokens: counted) {
                window.bytesPerToken = measured
                window.isMeasured = true
                window.counted = nil
            }
            window.refused = window.tokens(of: refused.size)
        }
        return window
    }

    /// How far back a history is read for a prompt that one of some servers gets; `nil` for all of it, if the context of one of them is unknown
    /// or the client wants no turn left out.
    ///
    /// - Parameter conversation: the conversation of the prompt.
    public func reach(
        for targets: [ModelTarget], passThrough: [RawMember], conversation: ConversationKey
    ) -> HistoryReach? {
        guard !passThrough.refusesTruncation else { return nil }
        var reach = HistoryReach(tokens: 0, bytesPerToken: 0)
        for target in targets {
            let members = target.upstream.description.merged(into: passThrough)
            let window = window(for: target, passThrough: members, conversation: conversation)
            guard let tokens = window.tokens else { return nil }
            // The estimates may change a little until the request is sent.
            reach.tokens = max(reach.tokens, tokens + tokens / 8)
            reach.bytesPerToken = max(reach.bytesPerToken, window.bytesPerToken, window.counted?.bytesPerToken ?? 0)
        }
        return reach.tokens > 0 ? reach : nil
    }

    /// Records the server's counts of a complete answer and its prompt, detects whether the server has cut the prompt by itself, and
    /// learns from the counts.
    ///
    /// - Parameters:
    ///   - promptTokens: `prompt_eval_count` of the last line.
    ///   - answer: the answer, if the next prompt includes everything that the server counted.
    ///   - conversation: the conversation of the prompt.
    public func note(
        _ promptTokens: Int?, and answer: Answer? = nil, in report: inout PromptReport, of target: ModelTarget,
        for conversation: ConversationKey? = nil
    ) {
        guard let promptTokens = PeerCount.checked(promptTokens), promptTokens > 0 else { return }
        report.promptTokens = promptTokens
        let (known, counted) = knowledge(of: target, in: conversation)
        var window = ContextWindow(tokens: nil, bytesPerToken: known.bytesPerToken, reserve: 0)
        window.counted = counted
        report.estimatedTokens = window.tokens(of: report.size)
        let countsAll = target.upstream.description.kind != .ollama || known.isWholeCounted
        let least = known.minimumTokens(of: countsAll ? report.size : report.newest)
        // No model has a context below 256 tokens: such a count omits the server's cache.
        let isLow = promptTokens >= 256 && promptTokens < least
        report.isCutByServer = isLow || report.contextLength.map { promptTokens >= $0 } ?? false
        guard !report.isCutByServer else {
            onCut(target, report)
            return
        }
        let measured = report.size.bytesPerToken(ofTokens: promptTokens)
        let all = known.minimumTokens(of: report.size)
        let isMostlyOld = known.minimumTokens(of: report.newest) < all / 2
        update(target) {
            $0.learn(measured)
            if promptTokens < all {
                $0.wholeCounts = 0
            } else if isMostlyOld {
                $0.wholeCounts += 1
            }
        }
        if let conversation {
            // A count below that of the beginning alone means that the server counted more for an answer than its text.
            let isTooHigh = counted.map { promptTokens < $0.tokens && report.size.text >= $0.text } ?? false
            let isWithoutAnswer = isTooHigh || counted?.isWithoutAnswer == true
            var count = Self.count(promptTokens, of: report.size, and: isWithoutAnswer ? nil : answer)
            count?.isWithoutAnswer = isWithoutAnswer
            remember(count, of: conversation, with: target)
        }
    }

    /// The count for the next prompt of the conversation; `nil` if the numbers do not measure text.
    private static func count(
        _ promptTokens: Int, of prompt: PromptSize, and answer: Answer?
    ) -> ConversationCounts.Count? {
        var (size, tokens) = (prompt, promptTokens)
        if let answer, answer.tokens > 0, usualRates ~= Double(answer.text) / Double(answer.tokens) {
            size.add(PromptSize(messageOf: answer.text))
            tokens = PeerCount.sum(tokens, answer.tokens)
        }
        guard let rate = size.bytesPerToken(ofTokens: tokens), usualRates ~= rate else { return nil }
        return ConversationCounts.Count(text: size.text, bytesPerToken: rate, tokens: tokens)
    }

    /// Learns from the error with which a server refused a prompt as too long.
    ///
    /// The caller then calls `window` again with the report, which results in a smaller prompt in any case.
    public func learn(from error: ModelError, of target: ModelTarget, refused report: inout PromptReport) {
        guard error.code == .contextTooLong else { return }
        report.promptTokens = PeerCount.checked(error.promptTokens)
        let measured = report.promptTokens.flatMap { report.size.bytesPerToken(ofTokens: $0) }
        update(target) {
            if let length = error.contextLength, length > 0 {
                $0.refusalLimit = length
            }
            $0.learn(measured)
        }
    }

    /// Learns from a failed prompt whose shorter version the server accepted. One case may be chance. From the second case on, such
    /// a prompt counts as longer than the model's context.
    func suspect(_ refused: PromptReport, of target: ModelTarget) {
        update(target) {
            let tokens = refused.size.tokens(bytesPerToken: $0.bytesPerToken)
            if let suspected = $0.suspected { $0.refusalLimit = min($0.refusalLimit ?? .max, suspected, tokens) }
            $0.suspected = min($0.suspected ?? .max, tokens)
        }
    }

    /// Learns from a server's list of models.
    ///
    /// The lists of Ollama are ignored: they give the context with which a model was loaded for its last request.
    public func learn(_ descriptions: [ModelDescription], of upstream: UpstreamDescription) {
        guard upstream.kind != .ollama else { return }
        for description in descriptions where (description.contextLength ?? 0) > 0 {
            update(Model(upstream: upstream.name, name: description.name)) {
                if let listed = $0.listed, listed != description.contextLength {
                    // It is another model, or the server was restarted.
                    $0.refusalLimit = nil
                }
                $0.listed = description.contextLength
            }
        }
    }

    private func knowledge(
        of target: ModelTarget, in conversation: ConversationKey?
    ) -> (Knowledge, ConversationCounts.Count?) {
        let model = Model(upstream: target.upstream.description.name, name: target.model)
        let key = conversation.map { Self.key(of: $0, model) }
        return state.withLock { state in
            (state.models[model] ?? Knowledge(), key.flatMap { state.conversations[$0] })
        }
    }

    private func remember(
        _ count: ConversationCounts.Count?, of conversation: ConversationKey, with target: ModelTarget
    ) {
        let key = Self.key(
            of: conversation, Model(upstream: target.upstream.description.name, name: target.model))
        state.withLock { $0.conversations[key] = count }
    }

    /// If two conversations have the same key, only their estimates suffer.
    private static func key(of conversation: ConversationKey, _ model: Model) -> Int {
        var hasher = Hasher()
        hasher.combine(conversation)
        hasher.combine(model)
        return hasher.finalize()
    }

    private func update(_ target: ModelTarget, _ body: (inout Knowledge) -> Void) {
        update(Model(upstream: target.upstream.description.name, name: target.model), body)
    }

    private func update(_ model: Model, _ body: (inout Knowledge) -> Void) {
        state.withLock { state in
            // Clients can send any number of names, so the table has a limit.
            if state.models.count >= Self.capacity, state.models[model] == nil {
                state.models.removeAll()
            }
            body(&state.models[model, default: Knowledge()])
        }
    }

    private static func contextLength(
        of description: UpstreamDescription, _ passThrough: [RawMember], _ known: Knowledge
    ) -> Int? {
        let requested = [passThrough, description.defaults].compactMap { $0.generationOption("num_ctx") }.first {
            $0 > 0
        }
        // Ollama uses the requested context; other servers have a fixed one.
        let set = description.kind == .ollama ? requested ?? description.contextLength : description.contextLength
        return [set ?? known.listed, known.refusalLimit, requested].compactMap { $0 }.min().map { min($0, longest) }
    }

    /// The tokens reserved for the answer: the requested ones or a quarter of the context, at most half of it.
    private static func reserve(
        in tokens: Int, _ description: UpstreamDescription, _ passThrough: [RawMember]
    ) -> Int {
        let asked = [passThrough, description.defaults].lazy.compactMap { members in
            members.generationOption("num_predict") ?? members.number("max_completion_tokens")
                ?? members.number("max_tokens")
        }.first
        guard let asked, asked > 0 else { return min(tokens / 4, 2_048) }
        return min(asked, tokens / 2)
    }
}
