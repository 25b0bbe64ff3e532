import ChatterdChat
import ChatterdRelay
import Testing

/// How far back a history is read, and whether the read part suffices.
@Suite(.timeLimit(.minutes(30))) struct HistoryReachTests {
    private func history(_ count: Int, skipped: ClosedRange<Int64>? = 2...9) -> TurnHistory {
        var messages = EncodedConversation()
        for index in 0..<count {
            messages.append(
                ModelMessage(role: "user", content: String(repeating: "x", count: 40)),
                seq: Int64(index + 10), turn: Int64(index / 2 * 2 + 11))
        }
        var history = TurnHistory(messages: messages, unfinished: [])
        history.skipped = skipped
        return history
    }

    @Test func reachIsExceededByTheTokensOfTheMessages() {
        let reach = HistoryReach(tokens: 100, bytesPerToken: 2)
        #expect(!reach.isExceeded(by: 1, text: 184) && reach.isExceeded(by: 1, text: 186))
        #expect(!reach.isExceeded(by: 12, text: 8) && reach.isExceeded(by: 12, text: 10))
        let messages = history(4).messages
        #expect(HistoryReach(tokens: 111, bytesPerToken: 2).isExceeded(by: messages))
        #expect(!HistoryReach(tokens: 112, bytesPerToken: 2).isExceeded(by: messages))
        #expect(HistoryReach(tokens: 112, bytesPerToken: 2).isExceeded(by: messages, and: [messages]))
        #expect(!HistoryReach(tokens: 112, bytesPerToken: 2).isExceeded(by: messages, and: [messages], times: 2))
    }

    @Test func completeHistoryCoversEveryWindow() {
        #expect(history(2, skipped: nil).covers(nil))
        #expect(history(2, skipped: nil).covers(ContextWindow(tokens: 1 << 30, reserve: 0)))
    }

    @Test func partOfAHistoryCoversWindowsThatItExceeds() {
        let history = history(10)
        #expect(!history.covers(nil) && !history.covers(ContextWindow(tokens: nil, reserve: 0)))
        // The messages are estimated at 8 + 40 tokens each.
        #expect(history.covers(ContextWindow(tokens: 479, bytesPerToken: 1, reserve: 0)))
        #expect(!history.covers(ContextWindow(tokens: 480, bytesPerToken: 1, reserve: 0)))
        #expect(history.covers(ContextWindow(tokens: 480, bytesPerToken: 1, reserve: 1)))
    }

    /// The numbers that were not read, the messages that do not fit and messages of failed turns among them are one range.
    @Test func reportOfAPartHasOneRangeBeyondTheContext() throws {
        var history = history(10)
        history.omitted = [PromptReport.Omitted(numbers: 11...11, why: .notComplete)]
        var window = ContextWindow(tokens: 200, bytesPerToken: 1, reserve: 0)
        window.isMeasured = true
        let report = try history.fitted(to: window).report
        let first = try #require(report.sent.first?.lowerBound)
        #expect(first > 12 && report.omitted == [PromptReport.Omitted(numbers: 2...first - 1, why: .context)])
    }
}
