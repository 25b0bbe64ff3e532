import ChatterdBasics
import ChatterdLanguageModels

/// What is known of models' contexts, and learned from what their servers count; one for the process, for all shards.
///
/// Nothing is tokenized: tokens are estimated from bytes, at a rate that each model is measured for.
public final class TokenEstimates: Sendable {
    /// The models that are known at once.
    private static let capacity = 1_000
    /// The plausible bytes of text per token. A rate outside of these bounds does not measure text: the server omitted its cache,
    /// or counted more than the prompt.
    private static let usualRates = 1.0...8.0
    /// The minimum estimate of a prompt, in tokens, for a failure to count as a context error: half of the smallest default context
    /// of servers, because an estimate may be half of the truth.
    static let leastContext = 256
    /// The longest context that is believed in, in tokens: no sum with it overflows, whatever a client or a server says.
    private static let longest = 1 << 40

    private struct Model: Hashable {
        var upstream: String
        var name: String
    }

    private struct Knowledge {
        var bytesPerToken = ContextWindow.usualBytesPerToken
        var counts = 0
        /// How often in a row the server has counted all of a prompt most of which it had been sent before.
        var wholeCounts = 0
        /// What the server said when it refused a prompt.
        var told: Int?
        /// What the server said of its models.
        var listed: Int?
        /// The smallest estimate of a failed prompt whose shorter version the server accepted.
        var suspected: Int?

        var isMeasured: Bool { counts >= 3 }
        /// Whether the server counts what it has in a cache as well.
        var isWholeCounted: Bool { wholeCounts >= 3 }

        /// The tokens that a prompt must have.
        func least(_ size: PromptSize) -> Int {
            // As long as nothing was measured: no tokenizer makes longer tokens of any text.
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
        /// The server's count of its tokens.
        var tokens: Int

        /// Creates an answer.
        public init(text: Int, tokens: Int) {
            self.text = text
            self.tokens = tokens
        }
    }

    private let state = Lock(State())
    private let onCut: @Sendable (UpstreamChoice, ReplyReceipt) -> Void

    /// Makes estimates that know nothing; `onCut` is told, on any shard, of each answer to a prompt that a server seems to have
    /// cut by itself.
    public init(onCut: @escaping @Sendable (UpstreamChoice, ReplyReceipt) -> Void = { _, _ in }) {
        self.onCut = onCut
    }

    /// The room that a model has: what the client's `options.num_ctx` asks for, what its operator says of it, or what its server
    /// has said.
    ///
    /// - Parameters:
    ///   - conversation: the conversation of the prompt. Its last count is part of the estimate.
    ///   - refused: the receipt of the prompt that the server has just refused as too long. The window is smaller than that prompt.
    public func window(
        for choice: UpstreamChoice, passThrough: [RawMember], conversation: String? = nil,
        refused: ReplyReceipt? = nil
    ) -> ContextWindow {
        let (known, counted) = knowledge(of: choice, in: conversation)
        let tokens = Self.contextLength(of: choice.upstream.description, passThrough, known)
        var window = ContextWindow(
            tokens: tokens, bytesPerToken: known.bytesPerToken,
            reserve: tokens.map { Self.reserve(in: $0, choice.upstream.description, passThrough) } ?? 0)
        window.isMeasured = known.isMeasured
        window.counted = counted
        window.besides = passThrough.reduce(0) { $0 + ($1.key == "tools" || $1.key == "format" ? $1.value.count : 0) }
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

    /// Takes down what a server has counted for a whole answer, whether it seems to have cut the prompt by itself, and learns.
    ///
    /// - Parameters:
    ///   - promptTokens: `prompt_eval_count` of the last line.
    ///   - answer: the answer, if the next prompt includes everything that the server counted.
    ///   - conversation: the conversation of the prompt.
    public func note(
        _ promptTokens: Int?, and answer: Answer? = nil, in receipt: inout ReplyReceipt, of choice: UpstreamChoice,
        for conversation: String? = nil
    ) {
        guard let promptTokens, promptTokens > 0 else { return }
        receipt.promptTokens = promptTokens
        let (known, counted) = knowledge(of: choice, in: conversation)
        var window = ContextWindow(tokens: nil, bytesPerToken: known.bytesPerToken, reserve: 0)
        window.counted = counted
        receipt.estimatedTokens = window.tokens(of: receipt.size)
        let countsAll = choice.upstream.description.kind != .ollama || known.isWholeCounted
        let least = known.least(countsAll ? receipt.size : receipt.newest)
        // No model has a context of so few: they are what was not in the cache.
        let isLow = promptTokens >= 256 && promptTokens < least
        receipt.isCutByServer = isLow || receipt.contextLength.map { promptTokens >= $0 } ?? false
        guard !receipt.isCutByServer else {
            onCut(choice, receipt)
            return
        }
        let measured = receipt.size.bytesPerToken(ofTokens: promptTokens)
        let all = known.least(receipt.size)
        let isMostlyOld = known.least(receipt.newest) < all / 2
        update(choice) {
            $0.learn(measured)
            if promptTokens < all {
                $0.wholeCounts = 0
            } else if isMostlyOld {
                $0.wholeCounts += 1
            }
        }
        if let conversation {
            // A count below that of the beginning alone means that the server counted more for an answer than its text.
            let isTooHigh = counted.map { promptTokens < $0.tokens && receipt.size.text >= $0.text } ?? false
            let isWithoutAnswer = isTooHigh || counted?.isWithoutAnswer == true
            var count = Self.count(promptTokens, of: receipt.size, and: isWithoutAnswer ? nil : answer)
            count?.isWithoutAnswer = isWithoutAnswer
            remember(count, of: conversation, with: choice)
        }
    }

    /// The count for the next prompt of the conversation; `nil` if the numbers do not measure text.
    private static func count(
        _ promptTokens: Int, of prompt: PromptSize, and answer: Answer?
    ) -> ConversationCounts.Count? {
        var (size, tokens) = (prompt, promptTokens)
        if let answer, answer.tokens > 0, usualRates ~= Double(answer.text) / Double(answer.tokens) {
            size.add(PromptSize(messageOf: answer.text))
            tokens += answer.tokens
        }
        guard let rate = size.bytesPerToken(ofTokens: tokens), usualRates ~= rate else { return nil }
        return ConversationCounts.Count(text: size.text, bytesPerToken: rate, tokens: tokens)
    }

    /// Learns from a refusal of a prompt as too long what the server has said with it.
    ///
    /// Ask for a `window` again afterwards, with the receipt: less will fit into it in any case.
    public func learn(from error: ModelError, of choice: UpstreamChoice, refused receipt: inout ReplyReceipt) {
        guard error.code == .contextTooLong else { return }
        receipt.promptTokens = error.promptTokens
        let measured = error.promptTokens.flatMap { receipt.size.bytesPerToken(ofTokens: $0) }
        update(choice) {
            if let told = error.contextLength, told > 0 {
                $0.told = told
            }
            $0.learn(measured)
        }
    }

    /// Learns from a failed prompt whose shorter version the server accepted. One case may be chance. From the second case on, such
    /// a prompt counts as longer than the model's context.
    func suspect(_ refused: ReplyReceipt, of choice: UpstreamChoice) {
        update(choice) {
            let tokens = refused.size.tokens(bytesPerToken: $0.bytesPerToken)
            if let suspected = $0.suspected { $0.told = min($0.told ?? .max, suspected, tokens) }
            $0.suspected = min($0.suspected ?? .max, tokens)
        }
    }

    /// Learns what a server says of its models.
    ///
    /// Ollama's is left out: it says what a model was loaded with for whoever asked last.
    public func learn(_ descriptions: [ModelDescription], of upstream: UpstreamDescription) {
        guard upstream.kind != .ollama else { return }
        for description in descriptions where (description.contextLength ?? 0) > 0 {
            update(Model(upstream: upstream.name, name: description.name)) {
                if let listed = $0.listed, listed != description.contextLength {
                    // It is another model, or the server was started anew.
                    $0.told = nil
                }
                $0.listed = description.contextLength
            }
        }
    }

    private func knowledge(
        of choice: UpstreamChoice, in conversation: String?
    ) -> (Knowledge, ConversationCounts.Count?) {
        let model = Model(upstream: choice.upstream.description.name, name: choice.model)
        let key = conversation.map { Self.key(of: $0, model) }
        return state.withLock { state in
            (state.models[model] ?? Knowledge(), key.flatMap { state.conversations[$0] })
        }
    }

    private func remember(_ count: ConversationCounts.Count?, of conversation: String, with choice: UpstreamChoice) {
        let key = Self.key(
            of: conversation, Model(upstream: choice.upstream.description.name, name: choice.model))
        state.withLock { $0.conversations[key] = count }
    }

    /// If two conversations have the same key, only their estimates suffer.
    private static func key(of conversation: String, _ model: Model) -> Int {
        var hasher = Hasher()
        hasher.combine(conversation)
        hasher.combine(model)
        return hasher.finalize()
    }

    private func update(_ choice: UpstreamChoice, _ body: (inout Knowledge) -> Void) {
        update(Model(upstream: choice.upstream.description.name, name: choice.model), body)
    }

    private func update(_ model: Model, _ body: (inout Knowledge) -> Void) {
        state.withLock { state in
            // Names come from clients: more than any server has are not kept.
            if state.models.count >= Self.capacity, state.models[model] == nil {
                state.models.removeAll()
            }
            body(&state.models[model, default: Knowledge()])
        }
    }

    private static func contextLength(
        of description: UpstreamDescription, _ passThrough: [RawMember], _ known: Knowledge
    ) -> Int? {
        let wish = [passThrough, description.defaults].compactMap { $0.generationOption("num_ctx") }.first { $0 > 0 }
        // Ollama gives a model the context that is asked for; others have theirs from their start.
        let set = description.kind == .ollama ? wish ?? description.contextLength : description.contextLength
        return [set ?? known.listed, known.told, wish].compactMap { $0 }.min().map { min($0, longest) }
    }

    /// What is left for the answer: what was asked for, or a quarter; never more than half.
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
