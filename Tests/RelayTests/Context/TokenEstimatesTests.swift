import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdRelay
import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct TokenEstimatesTests {
    private func target(
        _ kind: UpstreamDescription.Kind = .openai, context: Int? = nil, defaults: String = "", name: String = "u",
        model: String = "m"
    ) throws -> ModelTarget {
        var description = UpstreamDescription(name: name, kind: kind)
        description.contextLength = context
        description.defaults = try [RawMember](decodingMembers: Array(defaults.utf8))
        return ModelTarget(
            Upstream(description, model: ScriptedModel(), health: UpstreamHealth()), model: model)
    }

    private func members(_ text: String) throws -> [RawMember] {
        try [RawMember](decodingMembers: Array(text.utf8))
    }

    /// The report on a prompt with the given bytes of text, with or without an earlier answer.
    private func report(bytes: Int, behind earlier: Int = 0, in window: ContextWindow? = nil) throws -> PromptReport {
        var messages = EncodedConversation()
        if earlier > 0 {
            messages.append(ModelMessage(role: "assistant", content: String(repeating: "a", count: earlier)), seq: 1)
        }
        messages.append(ModelMessage(role: "user", content: String(repeating: "a", count: bytes)), seq: 2)
        return try TurnHistory(messages: messages, unfinished: []).fitted(to: window).report
    }

    private func refusal(context: Int? = nil, prompt: Int? = nil) -> ModelError {
        var error = ModelError(.contextTooLong, "too long")
        error.contextLength = context
        error.promptTokens = prompt
        return error
    }

    // MARK: - The window

    @Test func contextIsUnknownAtFirst() throws {
        let window = TokenEstimates().window(for: try target(), passThrough: [])
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
            for: try target(kind, context: context), passThrough: try members(request))
        #expect(window.tokens == expected)
    }

    @Test func operatorMaySetAContextForAllRequests() throws {
        let target = try target(.ollama, defaults: #""options":{"num_ctx":4096,"num_predict":100}"#)
        let window = TokenEstimates().window(for: target, passThrough: [])
        #expect(!window.refusesTruncation)
        #expect(TokenEstimates().window(for: target, passThrough: try members(#""truncate":false"#)).refusesTruncation)
        #expect(window.tokens == 4096 && window.reserve == 100)
        let asked = TokenEstimates().window(for: target, passThrough: try members(#""options":{"num_ctx":512}"#))
        #expect(asked.tokens == 512)
    }

    @Test(arguments: [
        (4096, "", 1024), (100_000, "", 2048), (4096, #""options":{"num_predict":50}"#, 50),
        (4096, #""options":{"num_predict":-1}"#, 1024), (4096, #""options":{"num_predict":9000}"#, 2048),
        (4096, #""max_tokens":70"#, 70), (4096, #""max_completion_tokens":80"#, 80),
    ])
    func tokensAreReservedForTheAnswer(_ context: Int, _ request: String, _ reserve: Int) throws {
        let window = TokenEstimates().window(for: try target(context: context), passThrough: try members(request))
        #expect(window.reserve == reserve)
    }

    @Test func toolsCountAsOverhead() throws {
        let window = TokenEstimates().window(
            for: try target(), passThrough: try members(#""tools":[{"type":"function"}],"format":"json","think":true"#))
        #expect(window.overheadBytes == 27)
    }

    @Test func listedContextCountsWithoutAConfiguredOne() throws {
        let estimates = TokenEstimates()
        let listed = [ModelDescription(name: "m", contextLength: 6000), ModelDescription(name: "n")]
        for kind in [UpstreamDescription.Kind.openai, .ollama] {
            estimates.learn(listed, of: UpstreamDescription(name: "\(kind)", kind: kind))
        }
        let window = { (target: ModelTarget) in estimates.window(for: target, passThrough: []).tokens }
        #expect(window(try target(name: "openai")) == 6000)
        #expect(window(try target(context: 9000, name: "openai")) == 9000)
        #expect(window(try target(name: "openai", model: "n")) == nil)
        // Ollama may have loaded the model with another context for another client.
        #expect(window(try target(.ollama, name: "ollama")) == nil)
    }

    // MARK: - Refusals

    @Test func contextOfARefusalIsLearned() throws {
        let estimates = TokenEstimates()
        let target = try target(context: 9000)
        var refused = try report(bytes: 30_000)
        estimates.learn(from: refusal(context: 4096, prompt: 8000), of: target, refused: &refused)
        #expect(estimates.window(for: target, passThrough: []).tokens == 4096)
        let again = estimates.window(for: target, passThrough: [], refused: refused)
        #expect(again.tokens == 4096 && again.isMeasured && (3.7...3.8).contains(again.bytesPerToken))
        #expect(estimates.window(for: try self.target(model: "other"), passThrough: []).tokens == nil)
    }

    @Test func changedListReplacesTheContextOfARefusal() throws {
        let estimates = TokenEstimates()
        var refused = try report(bytes: 30_000)
        let target = try target()
        estimates.learn(from: refusal(context: 4096), of: target, refused: &refused)
        for (length, expected) in [(6000, 4096), (6000, 4096), (8192, 8192), (8192, 8192)] {
            estimates.learn(
                [ModelDescription(name: "m", contextLength: length)], of: target.upstream.description)
            #expect(estimates.window(for: target, passThrough: []).tokens == expected)
        }
    }

    @Test func refusalForAnotherReasonIsIgnored() throws {
        let estimates = TokenEstimates()
        var refused = try report(bytes: 30_000)
        var error = ModelError(.rejected, "no")
        error.contextLength = 5
        estimates.learn(from: error, of: try target(), refused: &refused)
        #expect(estimates.window(for: try target(), passThrough: []).tokens == nil)
    }

    @Test(arguments: [nil, 100_000, 4096])
    func promptAfterARefusalIsSmallerInAnyCase(_ stated: Int?) throws {
        let estimates = TokenEstimates()
        let target = try target()
        var messages = EncodedConversation()
        for index in 0..<41 {
            messages.append(
                ModelMessage(role: "user", content: String(repeating: "x", count: 300)), seq: Int64(index + 1),
                turn: Int64(index + 1))
        }
        let history = TurnHistory(messages: messages, unfinished: [])
        var window = estimates.window(for: target, passThrough: [])
        var counts: [Int] = []
        while let fitted = try? history.fitted(to: window) {
            counts.append(fitted.messages.count)
            var report = fitted.report
            estimates.learn(from: refusal(context: stated), of: target, refused: &report)
            window = estimates.window(for: target, passThrough: [], refused: report)
        }
        #expect(counts.first == 41 && counts.last == 1)
        #expect(zip(counts, counts.dropFirst()).allSatisfy { $0 > $1 } && counts.count < 12)
    }

    @Test func countOfARefusalGivesTheSizeThatFits() throws {
        let estimates = TokenEstimates()
        let target = try target()
        var messages = EncodedConversation()
        for index in 0..<100 {
            messages.append(
                ModelMessage(role: "user", content: String(repeating: "字", count: 100)), seq: Int64(index + 1),
                turn: Int64(index + 1))
        }
        let history = TurnHistory(messages: messages, unfinished: [])
        var report = try history.fitted(to: estimates.window(for: target, passThrough: [])).report
        // A token has two bytes, and not three and a half.
        estimates.learn(from: refusal(context: 8192, prompt: 15_800), of: target, refused: &report)
        let window = estimates.window(for: target, passThrough: [], refused: report)
        let sent = try history.fitted(to: window).messages.count
        let room = 8192 - 2048
        // Up to a quarter is left free, so that several prompts begin at the same turn.
        #expect(sent * 158 <= room && (sent + 1) * 158 > room * 3 / 4)
    }

    @Test(arguments: [nil, 8_000, .max] as [Int?], [nil, .max] as [Int?])
    func absurdNumbersAreHarmless(prompt: Int?, context: Int?) throws {
        let estimates = TokenEstimates()
        let target = try target()
        let members = try members(#""options":{"num_ctx":9223372036854775807}"#)
        estimates.learn([ModelDescription(name: "m", contextLength: .max)], of: target.upstream.description)
        var messages = EncodedConversation()
        for seq in Int64(1)...9 {
            let text = String(repeating: "x", count: 300)
            messages.append(ModelMessage(role: "user", content: text), seq: seq, turn: seq)
        }
        let history = TurnHistory(messages: messages, unfinished: [])
        var report = try history.fitted(to: estimates.window(for: target, passThrough: members)).report
        #expect(report.messages == 9)
        estimates.learn(from: refusal(context: context, prompt: prompt), of: target, refused: &report)
        let less = try history.fitted(to: estimates.window(for: target, passThrough: members, refused: report))
        #expect(1..<9 ~= less.report.messages)
    }

    @Test(arguments: [Int.max, .min, -1, 0, 1 << 53, (1 << 53) + 1, 1_000], [Int.max, .min, -1, 1 << 53, 1_000])
    func countsThatOverflowAreNotAdded(prompt: Int, answer: Int) throws {
        let estimates = TokenEstimates()
        let target = try target()
        for _ in 0..<4 {
            var report = try report(bytes: 4_000, behind: 3_000)
            estimates.note(
                prompt, and: .init(text: 4_000, tokens: answer), in: &report, of: target, for: "conversation")
            #expect(report.promptTokens.map { 1...1 << 53 ~= $0 } ?? true)
            estimates.learn(from: refusal(context: prompt, prompt: answer), of: target, refused: &report)
            let window = estimates.window(
                for: target, passThrough: [], conversation: "conversation", refused: report)
            #expect(1...8 ~= window.bytesPerToken || window.bytesPerToken == 0.1)
        }
    }

    @Test func promptWithoutTextIsNoMeasurement() throws {
        let estimates = TokenEstimates()
        let target = try target()
        var report = try report(bytes: 0)
        estimates.learn(from: refusal(prompt: 500), of: target, refused: &report)
        let window = estimates.window(for: target, passThrough: [], refused: report)
        #expect(window.bytesPerToken == 3.5 && !window.isMeasured)
    }

    // MARK: - Counts of servers

    @Test func rateOfAModelIsLearned() throws {
        let estimates = TokenEstimates()
        let target = try target()
        for _ in 0..<20 {
            var report = try report(bytes: 4_800)
            estimates.note(2_408, in: &report, of: target)
            #expect(report.promptTokens == 2_408 && !report.isCutByServer)
        }
        let window = estimates.window(for: target, passThrough: [])
        #expect(window.isMeasured && (1.99...2.02).contains(window.bytesPerToken))
        var report = try report(bytes: 4_800)
        estimates.note(2_408, in: &report, of: target)
        #expect(report.estimatedTokens.map { 2_380...2_420 ~= $0 } == true)
        #expect(!estimates.window(for: try self.target(name: "other"), passThrough: []).isMeasured)
    }

    /// A conversation in which each turn adds a prompt and an answer, and whose tokens have two bytes each.
    private struct Conversation {
        let target: ModelTarget
        var messages = EncodedConversation()
        var turn: Int64 = 0
        /// The bytes of text so far, and the tokens that the server counts in addition for each answer.
        var text = 0
        var hidden = 0

        /// Asks and answers once; returns the estimate before the server has counted, and the count.
        mutating func ask(
            _ estimates: TokenEstimates, prompt: Int = 20, answer: Int = 600, named name: ConversationKey = "app"
        ) throws -> (estimate: Int, count: Int) {
            turn += 1
            messages.append(
                ModelMessage(role: "user", content: String(repeating: "p", count: prompt)), seq: turn * 2 - 1,
                turn: turn * 2)
            text += prompt
            let window = estimates.window(for: target, passThrough: [], conversation: name)
            var report = try TurnHistory(messages: messages, unfinished: []).fitted(to: window).report
            let estimate = report.estimatedTokens ?? 0
            let sent = report.messages
            let left = (messages.count - sent) / 2
            let count = (text - left * (prompt + answer)) / 2 + 8 * sent
            estimates.note(
                count, and: TokenEstimates.Answer(text: answer, tokens: answer / 2 + hidden), in: &report, of: target,
                for: name)
            messages.append(
                ModelMessage(role: "assistant", content: String(repeating: "a", count: answer)), seq: turn * 2,
                turn: turn * 2)
            text += answer
            return (estimate, count)
        }
    }

    @Test func countOfTheLastTurnIsPartOfTheNextEstimate() throws {
        let estimates = TokenEstimates()
        var conversation = Conversation(target: try target())
        _ = try conversation.ask(estimates)
        for _ in 0..<9 {
            let (estimate, count) = try conversation.ask(estimates)
            #expect(estimate >= count * 95 / 100 && estimate <= count * 105 / 100, "\(estimate) for \(count)")
        }
        // The text of another conversation is estimated by the model's rate alone.
        let usual = estimates.window(for: conversation.target, passThrough: []).bytesPerToken
        var other = Conversation(target: conversation.target)
        #expect(try other.ask(estimates, prompt: 7_000, named: "other").estimate == Int(7_000 / usual) + 8)
    }

    @Test func promptLeavesRoomForTheAnswer() throws {
        let estimates = TokenEstimates()
        let target = try target(context: 1_024)
        var conversation = Conversation(target: target)
        for _ in 0..<8 {
            let (estimate, count) = try conversation.ask(estimates)
            #expect(estimate <= 1_024 - 256 && count <= 1_024 - 256, "\(estimate) for \(count)")
        }
    }

    @Test func tokensOfHiddenThoughtsCountOnce() throws {
        let estimates = TokenEstimates()
        var conversation = Conversation(target: try target())
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
        let target = try target()
        for index in 0..<11_000 {
            var conversation = Conversation(target: target)
            _ = try conversation.ask(estimates, prompt: 700, named: "app \(index)")
        }
        let usual = ContextWindow(
            tokens: nil, bytesPerToken: estimates.window(for: target, passThrough: []).bytesPerToken, reserve: 0)
        let known = (0..<11_000).count {
            var window = estimates.window(for: target, passThrough: [], conversation: "app \($0)")
            window.isMeasured = false
            return window != usual
        }
        #expect(5_000...10_000 ~= known, "\(known)")
    }

    @Test(arguments: [(100, 40), (100_000, 300), (3_500, nil), (3_500, 0)] as [(Int, Int?)])
    func implausibleCountIsNoMeasurement(_ bytes: Int, _ count: Int?) throws {
        let estimates = TokenEstimates()
        let target = try target(.ollama)
        for _ in 0..<9 {
            var report = try report(bytes: bytes)
            estimates.note(count, in: &report, of: target)
        }
        #expect(!estimates.window(for: target, passThrough: []).isMeasured)
    }

    @Test func promptThatFillsTheWholeContextCountsAsCut() throws {
        let estimates = TokenEstimates()
        let window = ContextWindow(tokens: 2048, reserve: 100)
        for (count, isCut) in [(2047, false), (2048, true), (2050, true)] {
            var report = try report(bytes: 5_000, in: window)
            estimates.note(count, in: &report, of: try target())
            #expect(report.isCutByServer == isCut, "\(count)")
        }
    }

    @Test func farTooSmallCountMeansACut() throws {
        let estimates = TokenEstimates()
        let target = try target()
        // Without a measurement, tokens may have eight bytes.
        for (count, isCut) in [(4_096, true), (6_000, false)] {
            var report = try report(bytes: 40_000)
            estimates.note(count, in: &report, of: target)
            #expect(report.isCutByServer == isCut, "\(count)")
        }
        for _ in 0..<20 {
            var report = try report(bytes: 4_000)
            estimates.note(1_008, in: &report, of: target)
        }
        for (count, isCut) in [(5_500, true), (6_500, false)] {
            var report = try report(bytes: 40_000)
            estimates.note(count, in: &report, of: target)
            #expect(report.isCutByServer == isCut, "\(count)")
        }
        #expect(estimates.window(for: target, passThrough: []).bytesPerToken < 5, "a cut prompt is no measurement")
    }

    @Test func cachedPromptCountsAsUncut() throws {
        let estimates = TokenEstimates()
        for (kind, isCut) in [(.ollama, false), (.openai, true)] as [(UpstreamDescription.Kind, Bool)] {
            // Some versions of Ollama count only the tokens that were not in the cache.
            var report = try report(bytes: 2_000, behind: 60_000)
            estimates.note(500, in: &report, of: try target(kind))
            #expect(report.isCutByServer == isCut, "\(kind)")
        }
        var report = try report(bytes: 60_000, behind: 2_000)
        estimates.note(4_096, in: &report, of: try target(.ollama))
        #expect(report.isCutByServer, "a new prompt is in no cache")
    }

    @Test func ollamaThatCountsItsCacheIsDetected() throws {
        let estimates = TokenEstimates()
        let target = try target(.ollama)
        let note = { (bytes: Int, earlier: Int, count: Int) in
            var report = try report(bytes: bytes, behind: earlier)
            estimates.note(count, in: &report, of: target)
            return report.isCutByServer
        }
        // Two counts without the cache, and a completely new prompt, are no proof.
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
            var refused = try report(bytes: 10)
            estimates.learn(
                from: refusal(context: 4096), of: try target(model: "\(index)"), refused: &refused)
        }
        let known = try (0..<2_500).count {
            estimates.window(for: try target(model: "\($0)"), passThrough: []).tokens != nil
        }
        #expect(0 < known && known <= 1_000)
    }
}
