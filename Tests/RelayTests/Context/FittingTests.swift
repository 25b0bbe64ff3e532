import ChatterdBasics
import ChatterdChat
import ChatterdRelay
import ChatterdTestSupport
import Testing

/// The messages of a conversation that are sent to a model.
@Suite(.timeLimit(.minutes(30))) struct FittingTests {
    /// A history from lines `turn role text`; the turn is a number or `-`. The messages are numbered from 1.
    private func history(_ lines: String..., omitted: [PromptReport.Omitted] = []) -> TurnHistory {
        var messages = EncodedConversation()
        for (index, line) in lines.enumerated() {
            let parts = line.split(separator: " ", maxSplits: 2).map(String.init)
            messages.append(
                ModelMessage(role: parts[1], content: parts[2]), seq: Int64(index + 1), turn: Int64(parts[0]) ?? 0)
        }
        return TurnHistory(messages: messages, unfinished: [], omitted: omitted)
    }

    /// A window with room for the given number of messages of forty letters, with a byte for each token.
    private func window(messages: Int) -> ContextWindow {
        var window = ContextWindow(tokens: messages * 60 + 100, bytesPerToken: 1, reserve: 100)
        window.isMeasured = true
        return window
    }

    private func texts(_ messages: EncodedConversation) -> [String] {
        TurnHistory(messages: messages, unfinished: []).contents
    }

    private static let long = String(repeating: "x", count: 40)

    @Test func allMessagesAreSentWithoutAWindow() throws {
        let history = history("- system s", "3 user a", "3 assistant b", "5 user c")
        let (messages, report) = try history.fitted(to: nil)
        #expect(texts(messages) == ["s", "a", "b", "c"])
        #expect(report.sent == [1...4] && report.omitted.isEmpty && report.messages == 4)
        #expect(report.contextLength == nil && report.promptTokens == nil && !report.isCutByServer)
        #expect(report.estimatedTokens == 35)
    }

    @Test func fittingHistoryIsSentWhole() throws {
        let history = history("- system \(Self.long)", "3 user \(Self.long)", "3 assistant \(Self.long)", "5 user c")
        let (messages, report) = try history.fitted(to: window(messages: 4))
        #expect(messages.count == 4 && report.omitted.isEmpty && report.contextLength == 340)
    }

    @Test func oldestTurnsAreOmittedWholeAndTheSystemPromptIsKept() throws {
        let history = history(
            "- system s\(Self.long)", "3 user a\(Self.long)", "3 assistant b\(Self.long)", "5 user c\(Self.long)",
            "5 assistant d\(Self.long)", "7 user e\(Self.long)")
        let (messages, report) = try history.fitted(to: window(messages: 5))
        #expect(texts(messages).map { $0.prefix(1) } == ["s", "c", "d", "e"])
        #expect(messages.entries.map(\.seq) == [1, 4, 5, 6])
        #expect(report.sent == [1...1, 4...6] && report.messages == 4)
        #expect(report.omitted == [PromptReport.Omitted(numbers: 2...3, why: .context)])
        // A turn that does not fit completely is omitted.
        #expect(try history.fitted(to: window(messages: 3)).messages.entries.map(\.seq) == [1, 6])
    }

    @Test func promptOfAClientThatWantsNoTurnLeftOutIsRefused() throws {
        let history = history(
            "- system s\(Self.long)", "3 user a\(Self.long)", "3 assistant b\(Self.long)", "5 user c\(Self.long)")
        var window = window(messages: 4)
        window.refusesTruncation = true
        #expect(try history.fitted(to: window).messages.count == 4)
        // It may use the reserve of the answer.
        window.tokens = 260
        #expect(try history.fitted(to: window).messages.count == 4)
        window.tokens = 200
        let error = #expect(throws: RelayError.self) { try history.fitted(to: window) }
        #expect(error?.code == .model(.contextTooLong))
        window.refusesTruncation = false
        #expect(try history.fitted(to: window).messages.count == 2)
    }

    @Test func allPromptsOfTheTurnAreSent() throws {
        let history = history(
            "3 user \(Self.long)", "3 assistant \(Self.long)", "6 user \(Self.long)", "6 user \(Self.long)")
        let (messages, _) = try history.fitted(to: window(messages: 3))
        #expect(messages.entries.map(\.seq) == [3, 4])
    }

    @Test func promptThatNeverFitsIsRefused() throws {
        let history = history("- system s", "3 user a", "3 assistant b", "5 user \(String(repeating: "y", count: 400))")
        let error = #expect(throws: RelayError.self) { try history.fitted(to: window(messages: 3)) }
        #expect(error?.code == .model(.contextTooLong) && error?.code.isRetryable == false)
        #expect(error?.message.contains("280 tokens") == true)
        // An estimate that was never compared with a count may be wrong.
        var unmeasured = window(messages: 6)
        unmeasured.isMeasured = false
        #expect(try history.fitted(to: unmeasured).messages.entries.map(\.seq) == [1, 4])
    }

    @Test func systemPromptAloneMayBeTooLong() {
        let history = history("2 system \(String(repeating: "y", count: 400))")
        #expect(throws: RelayError.self) { try history.fitted(to: window(messages: 3)) }
    }

    @Test func longPromptMayUseTheReserveOfTheAnswer() throws {
        let history = history("3 user a", "3 assistant b", "5 user \(String(repeating: "y", count: 150))")
        #expect(try history.fitted(to: window(messages: 2)).messages.entries.map(\.seq) == [3])
    }

    @Test func toolAnswerStaysWithTheTurnThatCalledTheTool() throws {
        let history = history(
            "2 user a\(Self.long)", "2 assistant b\(Self.long)", "4 user c\(Self.long)", "4 assistant d\(Self.long)",
            "6 tool e\(Self.long)", "6 assistant f\(Self.long)", "8 tool g\(Self.long)")
        // The prompt is the answer of a tool: its call and the call before it are always sent.
        #expect(try history.fitted(to: window(messages: 5)).messages.entries.map(\.seq) == [3, 4, 5, 6, 7])
        #expect(throws: RelayError.self) { try history.fitted(to: window(messages: 1)) }
    }

    @Test func seededConversationIsCutBeforeAUserMessage() throws {
        let history = history(
            "- system s\(Self.long)", "- assistant hello\(Self.long)", "- user a\(Self.long)", "- user b\(Self.long)",
            "- assistant c\(Self.long)", "- user d\(Self.long)", "- assistant e\(Self.long)", "9 user f\(Self.long)")
        let seqs = { (room: Int) in
            var window = ContextWindow(tokens: room, bytesPerToken: 1, reserve: 0)
            window.isMeasured = true
            return try history.fitted(to: window).messages.entries.map(\.seq)
        }
        #expect(try seqs(430) == [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(try seqs(400) == [1, 3, 4, 5, 6, 7, 8])
        #expect(try seqs(300) == [1, 6, 7, 8])
        #expect(try seqs(200) == [1, 8])
    }

    @Test func picturesDoNotCountAsText() throws {
        var messages = EncodedConversation()
        let picture = String(repeating: "A", count: 100_000)
        messages.append(
            ModelMessage(role: "user", content: "look", extras: "\"images\":[\"\(picture)\",\"\(picture)\"]"), seq: 1)
        let history = TurnHistory(messages: messages, unfinished: [])
        let report = try history.fitted(to: ContextWindow(tokens: 4096, reserve: 512)).report
        #expect(report.estimatedTokens.map { 2_048...2_100 ~= $0 } == true)
        // Some models count far fewer tokens for a picture.
        var small = ContextWindow(tokens: 1024, reserve: 256)
        #expect(try history.fitted(to: small).messages.count == 1)
        small.refused = report.estimatedTokens
        #expect(throws: RelayError.self) { try history.fitted(to: small) }
    }

    @Test func overheadReducesTheRoomForMessages() throws {
        let history = history("3 user \(Self.long)", "3 assistant \(Self.long)", "5 user \(Self.long)")
        var window = window(messages: 3)
        #expect(try history.fitted(to: window).messages.count == 3)
        window.overheadBytes = 60
        #expect(try history.fitted(to: window).messages.count == 1)
    }

    @Test func lessIsSentAfterARefusal() throws {
        let history = history(
            "2 user \(Self.long)", "2 assistant \(Self.long)", "4 user \(Self.long)", "4 assistant \(Self.long)",
            "6 user \(Self.long)", "6 assistant \(Self.long)", "8 user \(Self.long)")
        var window = ContextWindow(tokens: nil, bytesPerToken: 1, reserve: 0)
        var counts: [Int] = []
        while let fitted = try? history.fitted(to: window) {
            counts.append(fitted.messages.count)
            window.refused = fitted.report.estimatedTokens
        }
        #expect(counts == [7, 3, 1])
    }

    @Test func reportListsOmittedMessagesWithReasons() throws {
        let others = [
            PromptReport.Omitted(numbers: 3...3, why: .notComplete),
            PromptReport.Omitted(numbers: 20...22, why: .branch),
        ]
        var history = history("5 user \(Self.long)", "5 assistant b", "6 user c", omitted: others)
        #expect(try history.fitted(to: nil).report.omitted == others)
        let report = try history.fitted(to: window(messages: 1)).report
        #expect(
            report.omitted == [PromptReport.Omitted(numbers: 1...2, why: .context)] + others)
        history.omitted = (0..<60).map { PromptReport.Omitted(numbers: 2 * $0...2 * $0, why: .branch) }
        let abridged = try history.fitted(to: nil).report
        #expect(abridged.isAbridged && abridged.omitted.count == 50 && abridged.omitted.last == history.omitted.last)
    }

    @Test func adjacentMessagesOmittedForOneReasonAreOneRange() {
        var omitted: [PromptReport.Omitted] = []
        for (seq, why) in [(1, .branch), (2, .branch), (3, .notComplete), (5, .notComplete)]
            as [(Int64, PromptReport.Omission)]
        {
            omitted.append(number: seq, why: why)
        }
        #expect(
            omitted == [
                PromptReport.Omitted(numbers: 1...2, why: .branch),
                PromptReport.Omitted(numbers: 3...3, why: .notComplete),
                PromptReport.Omitted(numbers: 5...5, why: .notComplete),
            ])
    }
}

extension TurnHistory {
    /// The texts of the messages.
    fileprivate var contents: [String] {
        let list = Array("[\(messages.json.string)]".utf8)
        let bytes = list.span
        var reader = JSONReader(bytes)
        var contents: [String] = []
        do {
            try reader.beginArray()
            while try reader.nextElement() {
                try reader.beginObject()
                while let key = try reader.nextKey() {
                    let value = try reader.skipValue()
                    guard reader.matches(key, "content") else { continue }
                    contents.append(String(decodingJSON: bytes.extracting(value.lowerBound + 1..<value.upperBound - 1)))
                }
            }
        } catch {
            Issue.record("the messages do not read: \(error)")
        }
        return contents
    }
}
