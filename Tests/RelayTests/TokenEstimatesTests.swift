import ChatterdBasics
import ChatterdLanguageModels
import ChatterdRelay
import Testing

@Suite(.timeLimit(.minutes(30))) struct TokenEstimatesTests {
    private func choice(
        _ kind: UpstreamDescription.Kind = .openai, context: Int? = nil, defaults: String = "", name: String = "u",
        model: String = "m"
    ) throws -> UpstreamChoice {
        var description = UpstreamDescription(name: name, kind: kind)
        description.contextLength = context
        description.defaults = try [RawMember](decodingMembers: Array(defaults.utf8))
        return UpstreamChoice(
            Upstream(description, model: ScriptedModel(), health: UpstreamHealth()), model: model)
    }

    private func members(_ text: String) throws -> [RawMember] {
        try [RawMember](decodingMembers: Array(text.utf8))
    }

    /// The receipt of a prompt of so many bytes of text, behind an answer or not.
    private func receipt(bytes: Int, behind earlier: Int = 0, in window: ContextWindow? = nil) throws -> ReplyReceipt {
        var messages = EncodedMessages()
        if earlier > 0 {
            messages.append(ModelMessage(role: "assistant", content: String(repeating: "a", count: earlier)), place: 1)
        }
        messages.append(ModelMessage(role: "user", content: String(repeating: "a", count: bytes)), place: 2)
        return try TurnHistory(messages: messages, unfinished: []).fitted(to: window).receipt
    }

    private func refusal(context: Int? = nil, prompt: Int? = nil) -> ModelError {
        var error = ModelError(.contextTooLong, "too long")
        error.contextLength = context
        error.promptTokens = prompt
        return error
    }

    // MARK: - The window

    @Test func contextIsUnknownAtFirst() throws {
        let window = TokenEstimates().window(for: try choice(), passThrough: [])
        #expect(window == ContextWindow(tokens: nil, reserve: 0) && window.bytesPerToken == 3.5)
    }

    @Test(
        arguments: [
            (.ollama, nil, #""options":{"num_ctx":2048}"#, 2048), (.ollama, 8192, #""options":{"num_ctx":2048}"#, 2048),
            (.ollama, 1024, #""options":{"num_ctx":2048}"#, 2048), (.ollama, 8192, "", 8192),
            (.openai, 1024, #""options":{"num_ctx":2048}"#, 1024),
            (.openai, 8192, #""options":{"num_ctx":2048}"#, 2048),
            (.openai, nil, #""options":{"num_ctx":0}"#, nil), (.ollama, 8192, #""options":{"num_ctx":-1}"#, 8192),
            (.ollama, nil, #""options":{"num_ctx":"x"}"#, nil),
        ] as [(UpstreamDescription.Kind, Int?, String, Int?)])
    func clientMayRequestAContext(
        _ kind: UpstreamDescription.Kind, _ context: Int?, _ request: String, _ expected: Int?
    ) throws {
        let window = TokenEstimates().window(
            for: try choice(kind, context: context), passThrough: try members(request))
        #expect(window.tokens == expected)
    }

    @Test func operatorMaySetAContextForAllRequests() throws {
        let choice = try choice(.ollama, defaults: #""options":{"num_ctx":4096,"num_predict":100}"#)
        let window = TokenEstimates().window(for: choice, passThrough: [])
        #expect(window.tokens == 4096 && window.reserve == 100)
        let asked = TokenEstimates().window(for: choice, passThrough: try members(#""options":{"num_ctx":512}"#))
        #expect(asked.tokens == 512)
    }

    @Test(arguments: [
        (4096, "", 1024), (100_000, "", 2048), (4096, #""options":{"num_predict":50}"#, 50),
        (4096, #""options":{"num_predict":-1}"#, 1024), (4096, #""options":{"num_predict":9000}"#, 2048),
        (4096, #""max_tokens":70"#, 70), (4096, #""max_completion_tokens":80"#, 80),
    ])
    func tokensAreReservedForTheAnswer(_ context: Int, _ request: String, _ reserve: Int) throws {
        let window = TokenEstimates().window(for: try choice(context: context), passThrough: try members(request))
        #expect(window.reserve == reserve)
    }

    @Test func toolsCountAsOverhead() throws {
        let window = TokenEstimates().window(
            for: try choice(), passThrough: try members(#""tools":[{"type":"function"}],"format":"json","think":true"#))
        #expect(window.besides == 27)
    }

    @Test func listedContextCountsWithoutAConfiguredOne() throws {
        let estimates = TokenEstimates()
        let listed = [ModelDescription(name: "m", contextLength: 6000), ModelDescription(name: "n")]
        for kind in [UpstreamDescription.Kind.openai, .ollama] {
            estimates.learn(listed, of: UpstreamDescription(name: "\(kind)", kind: kind))
        }
        let window = { (choice: UpstreamChoice) in estimates.window(for: choice, passThrough: []).tokens }
        #expect(window(try choice(name: "openai")) == 6000)
        #expect(window(try choice(context: 9000, name: "openai")) == 9000)
        #expect(window(try choice(name: "openai", model: "n")) == nil)
        // Ollama may have loaded the model with another context for another client.
        #expect(window(try choice(.ollama, name: "ollama")) == nil)
    }

    // MARK: - Refusals

    @Test func contextOfARefusalIsLearned() throws {
        let estimates = TokenEstimates()
        let choice = try choice(context: 9000)
        var refused = try receipt(bytes: 30_000)
        estimates.learn(from: refusal(context: 4096, prompt: 8000), of: choice, refused: &refused)
        #expect(estimates.window(for: choice, passThrough: []).tokens == 4096)
        let again = estimates.window(for: choice, passThrough: [], refused: refused)
        #expect(again.tokens == 4096 && again.isMeasured && (3.7...3.8).contains(again.bytesPerToken))
        #expect(estimates.window(for: try self.choice(model: "other"), passThrough: []).tokens == nil)
    }

    @Test func changedListReplacesTheContextOfARefusal() throws {
        let estimates = TokenEstimates()
        var refused = try receipt(bytes: 30_000)
        let choice = try choice()
        estimates.learn(from: refusal(context: 4096), of: choice, refused: &refused)
        for (length, expected) in [(6000, 4096), (6000, 4096), (8192, 8192), (8192, 8192)] {
            estimates.learn(
                [ModelDescription(name: "m", contextLength: length)], of: choice.upstream.description)
            #expect(estimates.window(for: choice, passThrough: []).tokens == expected)
        }
    }

    @Test func refusalForAnotherReasonIsIgnored() throws {
        let estimates = TokenEstimates()
        var refused = try receipt(bytes: 30_000)
        var error = ModelError(.rejected, "no")
        error.contextLength = 5
        estimates.learn(from: error, of: try choice(), refused: &refused)
        #expect(estimates.window(for: try choice(), passThrough: []).tokens == nil)
    }

    @Test(arguments: [nil, 100_000, 4096])
    func promptAfterARefusalIsSmallerInAnyCase(_ stated: Int?) throws {
        let estimates = TokenEstimates()
        let choice = try choice()
        var messages = EncodedMessages()
        for index in 0..<41 {
            messages.append(
                ModelMessage(role: "user", content: String(repeating: "x", count: 300)), place: Int64(index + 1),
                turn: Int64(index + 1))
        }
        let history = TurnHistory(messages: messages, unfinished: [])
        var window = estimates.window(for: choice, passThrough: [])
        var counts: [Int] = []
        while let fitted = try? history.fitted(to: window) {
            counts.append(fitted.messages.count)
            var receipt = fitted.receipt
            estimates.learn(from: refusal(context: stated), of: choice, refused: &receipt)
            window = estimates.window(for: choice, passThrough: [], refused: receipt)
        }
        #expect(counts.first == 41 && counts.last == 1)
        #expect(zip(counts, counts.dropFirst()).allSatisfy { $0 > $1 } && counts.count < 12)
    }

    @Test func countOfARefusalGivesTheSizeThatFits() throws {
        let estimates = TokenEstimates()
        let choice = try choice()
        var messages = EncodedMessages()
        for index in 0..<100 {
            messages.append(
                ModelMessage(role: "user", content: String(repeating: "字", count: 100)), place: Int64(index + 1),
                turn: Int64(index + 1))
        }
        let history = TurnHistory(messages: messages, unfinished: [])
        var receipt = try history.fitted(to: estimates.window(for: choice, passThrough: [])).receipt
        // A token has two bytes, and not three and a half.
        estimates.learn(from: refusal(context: 8192, prompt: 15_800), of: choice, refused: &receipt)
        let window = estimates.window(for: choice, passThrough: [], refused: receipt)
        let sent = try history.fitted(to: window).messages.count
        let room = 8192 - 2048
        // Up to a quarter is left free, so that several prompts begin at the same turn.
        #expect(sent * 158 <= room && (sent + 1) * 158 > room * 3 / 4)
    }

    @Test(arguments: [nil, 8_000, .max] as [Int?], [nil, .max] as [Int?])
    func absurdNumbersAreHarmless(prompt: Int?, context: Int?) throws {
        let estimates = TokenEstimates()
        let choice = try choice()
        let members = try members(#""options":{"num_ctx":9223372036854775807}"#)
        estimates.learn([ModelDescription(name: "m", contextLength: .max)], of: choice.upstream.description)
        var messages = EncodedMessages()
        for place in Int64(1)...9 {
            let text = String(repeating: "x", count: 300)
            messages.append(ModelMessage(role: "user", content: text), place: place, turn: place)
        }
        let history = TurnHistory(messages: messages, unfinished: [])
        var receipt = try history.fitted(to: estimates.window(for: choice, passThrough: members)).receipt
        #expect(receipt.messages == 9)
        estimates.learn(from: refusal(context: context, prompt: prompt), of: choice, refused: &receipt)
        let less = try history.fitted(to: estimates.window(for: choice, passThrough: members, refused: receipt))
        #expect(1..<9 ~= less.receipt.messages)
    }

    @Test func promptWithoutTextIsNoMeasurement() throws {
        let estimates = TokenEstimates()
        let choice = try choice()
        var receipt = try receipt(bytes: 0)
        estimates.learn(from: refusal(prompt: 500), of: choice, refused: &receipt)
        let window = estimates.window(for: choice, passThrough: [], refused: receipt)
        #expect(window.bytesPerToken == 3.5 && !window.isMeasured)
    }

    // MARK: - Counts of servers

    @Test func rateOfAModelIsLearned() throws {
        let estimates = TokenEstimates()
        let choice = try choice()
        for _ in 0..<20 {
            var receipt = try receipt(bytes: 4_800)
            estimates.note(2_408, in: &receipt, of: choice)
            #expect(receipt.promptTokens == 2_408 && !receipt.isCutByServer)
        }
        let window = estimates.window(for: choice, passThrough: [])
        #expect(window.isMeasured && (1.99...2.02).contains(window.bytesPerToken))
        var receipt = try receipt(bytes: 4_800)
        estimates.note(2_408, in: &receipt, of: choice)
        #expect(receipt.estimatedTokens.map { 2_380...2_420 ~= $0 } == true)
        #expect(!estimates.window(for: try self.choice(name: "other"), passThrough: []).isMeasured)
    }

    /// A conversation in which each turn adds a prompt and an answer, and whose tokens have two bytes each.
    private struct Conversation {
        let choice: UpstreamChoice
        var messages = EncodedMessages()
        var turn: Int64 = 0
        /// The bytes of text so far, and the tokens that the server counts in addition for each answer.
        var text = 0
        var hidden = 0

        /// Asks and answers once; returns the estimate before the server has counted, and the count.
        mutating func ask(
            _ estimates: TokenEstimates, prompt: Int = 20, answer: Int = 600, named name: String = "app"
        ) throws -> (estimate: Int, count: Int) {
            turn += 1
            messages.append(
                ModelMessage(role: "user", content: String(repeating: "p", count: prompt)), place: turn * 2 - 1,
                turn: turn * 2)
            text += prompt
            let window = estimates.window(for: choice, passThrough: [], conversation: name)
            var receipt = try TurnHistory(messages: messages, unfinished: []).fitted(to: window).receipt
            let estimate = receipt.estimatedTokens ?? 0
            let sent = receipt.messages
            let left = (messages.count - sent) / 2
            let count = (text - left * (prompt + answer)) / 2 + 8 * sent
            estimates.note(
                count, and: TokenEstimates.Answer(text: answer, tokens: answer / 2 + hidden), in: &receipt, of: choice,
                for: name)
            messages.append(
                ModelMessage(role: "assistant", content: String(repeating: "a", count: answer)), place: turn * 2,
                turn: turn * 2)
            text += answer
            return (estimate, count)
        }
    }

    @Test func countOfTheLastTurnIsPartOfTheNextEstimate() throws {
        let estimates = TokenEstimates()
        var conversation = Conversation(choice: try choice())
        _ = try conversation.ask(estimates)
        for _ in 0..<9 {
            let (estimate, count) = try conversation.ask(estimates)
            #expect(estimate >= count * 95 / 100 && estimate <= count * 105 / 100, "\(estimate) for \(count)")
        }
        // The text of another conversation is estimated by the model's rate alone.
        let usual = estimates.window(for: conversation.choice, passThrough: []).bytesPerToken
        var other = Conversation(choice: conversation.choice)
        #expect(try other.ask(estimates, prompt: 7_000, named: "other").estimate == Int(7_000 / usual) + 8)
    }

    @Test func promptLeavesRoomForTheAnswer() throws {
        let estimates = TokenEstimates()
        let choice = try choice(context: 1_024)
        var conversation = Conversation(choice: choice)
        for _ in 0..<8 {
            let (estimate, count) = try conversation.ask(estimates)
            #expect(estimate <= 1_024 - 256 && count <= 1_024 - 256, "\(estimate) for \(count)")
        }
    }

    @Test func tokensOfHiddenThoughtsCountOnce() throws {
        let estimates = TokenEstimates()
        var conversation = Conversation(choice: try choice())
        conversation.hidden = 250
        _ = try conversation.ask(estimates)
        let first = try conversation.ask(estimates)
        #expect(first.estimate > first.count + 200, "the first answer counts as the server counted it")
        for _ in 0..<5 {
            let (estimate, count) = try conversation.ask(estimates)
            #expect(estimate <= count * 105 / 100, "\(estimate) for \(count)")
        }
    }

    @Test func countsOfOldConversationsAreDropped() throws {
        let estimates = TokenEstimates()
        let choice = try choice()
        for index in 0..<11_000 {
            var conversation = Conversation(choice: choice)
            _ = try conversation.ask(estimates, prompt: 700, named: "app \(index)")
        }
        let usual = ContextWindow(
            tokens: nil, bytesPerToken: estimates.window(for: choice, passThrough: []).bytesPerToken, reserve: 0)
        let known = (0..<11_000).count {
            var window = estimates.window(for: choice, passThrough: [], conversation: "app \($0)")
            window.isMeasured = false
            return window != usual
        }
        #expect(5_000...10_000 ~= known, "\(known)")
    }

    @Test(arguments: [(100, 40), (100_000, 300), (3_500, nil), (3_500, 0)] as [(Int, Int?)])
    func implausibleCountIsNoMeasurement(_ bytes: Int, _ count: Int?) throws {
        let estimates = TokenEstimates()
        let choice = try choice(.ollama)
        for _ in 0..<9 {
            var receipt = try receipt(bytes: bytes)
            estimates.note(count, in: &receipt, of: choice)
        }
        #expect(!estimates.window(for: choice, passThrough: []).isMeasured)
    }

    @Test func promptThatFillsTheWholeContextCountsAsCut() throws {
        let estimates = TokenEstimates()
        let window = ContextWindow(tokens: 2048, reserve: 100)
        for (count, isCut) in [(2047, false), (2048, true), (2050, true)] {
            var receipt = try receipt(bytes: 5_000, in: window)
            estimates.note(count, in: &receipt, of: try choice())
            #expect(receipt.isCutByServer == isCut, "\(count)")
        }
    }

    @Test func farTooSmallCountMeansACut() throws {
        let estimates = TokenEstimates()
        let choice = try choice()
        // Without a measurement, tokens may have eight bytes.
        for (count, isCut) in [(4_096, true), (6_000, false)] {
            var receipt = try receipt(bytes: 40_000)
            estimates.note(count, in: &receipt, of: choice)
            #expect(receipt.isCutByServer == isCut, "\(count)")
        }
        for _ in 0..<20 {
            var receipt = try receipt(bytes: 4_000)
            estimates.note(1_008, in: &receipt, of: choice)
        }
        for (count, isCut) in [(5_500, true), (6_500, false)] {
            var receipt = try receipt(bytes: 40_000)
            estimates.note(count, in: &receipt, of: choice)
            #expect(receipt.isCutByServer == isCut, "\(count)")
        }
        #expect(estimates.window(for: choice, passThrough: []).bytesPerToken < 5, "what was cut is no measure")
    }

    @Test func cachedPromptCountsAsUncut() throws {
        let estimates = TokenEstimates()
        for (kind, isCut) in [(.ollama, false), (.openai, true)] as [(UpstreamDescription.Kind, Bool)] {
            // Some versions of Ollama count only the tokens that were not in the cache.
            var receipt = try receipt(bytes: 2_000, behind: 60_000)
            estimates.note(500, in: &receipt, of: try choice(kind))
            #expect(receipt.isCutByServer == isCut, "\(kind)")
        }
        var receipt = try receipt(bytes: 60_000, behind: 2_000)
        estimates.note(4_096, in: &receipt, of: try choice(.ollama))
        #expect(receipt.isCutByServer, "a new prompt is in no cache")
    }

    @Test func ollamaThatCountsItsCacheIsDetected() throws {
        let estimates = TokenEstimates()
        let choice = try choice(.ollama)
        let note = { (bytes: Int, earlier: Int, count: Int) in
            var receipt = try receipt(bytes: bytes, behind: earlier)
            estimates.note(count, in: &receipt, of: choice)
            return receipt.isCutByServer
        }
        // A count without the cache, twice, and a wholly new prompt prove nothing.
        #expect(try !note(100, 8_000, 2_020))
        #expect(try !note(100, 60_000, 400))
        #expect(try !note(8_000, 0, 2_008))
        #expect(try !note(100, 60_000, 4_096))
        for _ in 0..<3 {
            #expect(try !note(100, 8_000, 2_020))
        }
        #expect(try note(100, 60_000, 4_096))
        #expect(try !note(100, 60_000, 12_000))
        #expect(try !note(100, 60_000, 30), "no context is so short")
    }

    @Test func numberOfKnownModelsIsLimited() throws {
        let estimates = TokenEstimates()
        for index in 0..<2_500 {
            var refused = try receipt(bytes: 10)
            estimates.learn(
                from: refusal(context: 4096), of: try choice(model: "\(index)"), refused: &refused)
        }
        let known = try (0..<2_500).count {
            estimates.window(for: try choice(model: "\($0)"), passThrough: []).tokens != nil
        }
        #expect(0 < known && known <= 1_000)
    }
}
