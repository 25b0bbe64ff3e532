import ChatterdChat
import ChatterdIdentity
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// The history that a model gets from the rows of a conversation.
@Suite(.timeLimit(.minutes(30))) struct HistoryStoreTests {
    private func omitted(_ history: TurnHistory) -> [String] {
        history.omitted.map { "\($0.numbers.lowerBound)-\($0.numbers.upperBound) \($0.why.rawValue)" }
    }

    /// Row, turn and role of each message.
    private func entries(_ history: TurnHistory) -> [String] {
        history.messages.entries.map { "\($0.seq) \($0.turn) \($0.role)" }
    }

    @Test func messagesHaveTheirRowsAndTurns() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            try await store.replaceConversation(
                "app",
                with: [ModelMessage(role: "system", content: "s"), ModelMessage(role: "user", content: "t")])
            let first = try await store.open("a", "b")
            #expect(entries(first.history) == ["1 0 system", "2 0 user", "3 5 user", "4 5 user"])
            try await store.closeTurn(first.turn, with: first.closing("c"))
            let second = try await store.open("d")
            #expect(
                entries(second.history) == [
                    "1 0 system", "2 0 user", "3 5 user", "4 5 user", "5 5 other", "6 7 user",
                ])
            #expect(second.history.omitted.isEmpty)
            let report = try second.history.fitted(to: nil).report
            #expect(report.sent == [1...6] && report.messages == 6)
        }
    }

    /// A follow-up to an answer that was stopped or failed means that answer.
    @Test(arguments: [ReplyState.failed, .cancelled, .interrupted])
    func answerThatEndedEarlyIsReplayed(state: ReplyState) async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let long = String(repeating: "word ", count: HistoryStatements.inlineLimits.upperBound)
            let stopped = try await store.exchange("a", long, as: state)
            let next = try await store.open("shorter")
            #expect(next.said == ["user a", "assistant \(long)", "user shorter"])
            #expect(next.history.omitted.isEmpty)
            try await store.closeTurn(next.turn, with: next.closing("b", as: state))
            try await store.choose(try await store.record(stopped))
            #expect(try await store.open("c").said == ["user a", "assistant \(long)", "user c"])
        }
    }

    /// A call has no result: no server would take the request.
    @Test func answerThatEndedEarlyWithACallIsLeftOut() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("a")
            let calls = "{\"function\":{\"name\":\"f\",\"arguments\":{}}}"
            try await store.closeTurn(opened.turn, with: opened.closing("I look.", calls: calls, as: .cancelled))
            let next = try await store.open("b")
            #expect(next.said == ["user b"])
            #expect(omitted(next.history) == ["1-2 not_complete"])
            await #expect(throws: RelayError.self) { try await store.choose(try await store.record(opened)) }
        }
    }

    private static let steps =
        #""steps":[{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{}}}]},"#
        + #"{"role":"tool","content":"42","tool_name":"f","state":"done"}]"#

    /// The statement, the copy of a branch and the next history have one rule.
    @Test(arguments: [
        (text: "half", steps: steps, calls: "", isReplayed: true),
        (" ", steps, "", true),
        ("half", steps, #"{"function":{"name":"g","arguments":{}}}"#, false),
        ("half", steps, #"{"function":{"name":"g","arguments":{}},"state":"done"}"#, false),
        ("half", "", "", true),
        (" ", "", "", false),
    ])
    func answerThatEndedEarlyIsReplayedWithItsSteps(
        text: String, steps: String, calls: String, isReplayed: Bool
    )
        async throws
    {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("a")
            if !steps.isEmpty {
                try await store.storeSteps(Array(steps.utf8), of: opened.turn, id: opened.id, attempt: 1)
            }
            try await store.closeTurn(opened.turn, with: opened.closing(text, calls: calls, as: .cancelled))
            let said = try await store.open("b").said
            #expect(said.first == (isReplayed ? "user a" : "user b"))
            #expect(said.contains("assistant \(text)") == isReplayed)
            #expect(said.contains("tool 42") == (isReplayed && !steps.isEmpty))
            let copy = ConversationKey(Owner(app: "app"), name: "copy")
            try await processes.archive().fork("app", at: nil, to: copy, title: nil)
            #expect(try await store.open("b", in: copy).said == said)
            let record = try await store.record(opened)
            if isReplayed {
                try await store.choose(record)
            } else {
                await #expect(throws: RelayError.self) { try await store.choose(record) }
            }
        }
    }

    @Test func turnsWithoutAnAnswerAreLeftOut() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            try await store.exchange("a", "1")
            try await store.exchange("b", "", as: .failed)
            let long = try await store.open("c", "d")
            try await store.closeTurn(long.turn, with: long.closing("", as: .cancelled))
            try await store.exchange("e", "2")
            let open = try await store.open("f")
            let next = try await store.open("g")
            #expect(next.history.unfinished == [open.turn.number])
            #expect(omitted(next.history) == ["3-7 not_complete", "10-11 not_complete"])
            #expect(try next.history.fitted(to: nil).report.sent == [1...2, 8...9, 12...12])
        }
    }

    @Test func replyWhosePromptsAreGoneIsNotReplayed() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            try await store.exchange("a", "1")
            try await store.exchange("b", "2")
            try await processes.sql("DELETE FROM chatts WHERE appid = 'app' AND seq = 3")
            #expect(try await store.open("c").said == ["user a", "assistant 1", "user c"])
        }
    }

    @Test func otherBranchesAreLeftOut() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            try await store.replaceConversation(
                "app", with: [ModelMessage(role: "system", content: "s")])
            let first = try await store.exchange("a", "1")
            try await store.exchange("b", "2")
            let failed = try await store.exchange("c", "", parent: .reply(first.id), as: .failed)
            let branch = try await store.open("d", parent: .reply(failed.id))
            #expect(branch.said == ["system s", "user a", "assistant 1", "user d"])
            #expect(omitted(branch.history) == ["4-5 branch", "6-7 not_complete"])
            #expect(entries(branch.history) == ["1 0 system", "2 3 user", "3 3 other", "8 9 user"])
            try await store.closeTurn(branch.turn, with: branch.closing("4"))
            try await store.choose(try await store.record(first))
            let chosen = try await store.open("e")
            #expect(chosen.said == ["system s", "user a", "assistant 1", "user e"])
            // The choice itself is no message.
            #expect(omitted(chosen.history) == ["4-9 branch"])
            #expect(try chosen.history.fitted(to: nil).report.sent == [1...3, 11...11])
            let start = try await store.open("f", parent: .start)
            #expect(omitted(start.history) == ["2-12 branch"])
        }
    }

    @Test func promptsOfAnAlternativeBelongToItsTurn() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let first = try await store.exchange("a", "1")
            let again = try await store.openAlternative(
                to: try await store.record(first), as: .random(), model: nil, onInterrupt: .close)
            #expect(entries(again.history) == ["1 3 user"])
            #expect(omitted(again.history) == ["2-2 branch"])
        }
    }

    @Test func historyFittingLeavesOutTheOldestTurns() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            try await store.replaceConversation(
                "app", with: [ModelMessage(role: "system", content: "Be brief.")])
            for index in 0..<20 {
                try await store.exchange("question \(index)", String(repeating: "words ", count: 20))
            }
            try await store.exchange("lost", "", as: .interrupted)
            let opened = try await store.open("last")
            let window = ContextWindow(tokens: 300, reserve: 75)
            let (messages, report) = try opened.history.fitted(to: window)
            let said = TurnHistory(messages: messages, unfinished: []).said
            #expect(said.first == "system Be brief." && said.last == "user last")
            #expect(said.dropFirst().first?.hasPrefix("user question") == true)
            #expect(said.count % 2 == 0 && said.count > 2 && report.messages == said.count)
            let first = messages.entries[1].seq
            #expect(report.sent == [1...1, first...41, 44...44])
            #expect(
                report.omitted == [
                    PromptReport.Omitted(numbers: 2...(first - 1), why: .context),
                    PromptReport.Omitted(numbers: 42...43, why: .notComplete),
                ])
            #expect(report.estimatedTokens.map { $0 <= 225 } == true)
        }
    }

    @Test func rowsOfAnotherServerAreCutAtUserMessages() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let seed = (0..<20).flatMap { index in
                [
                    ModelMessage(role: "user", content: "question \(index)"),
                    ModelMessage(role: "assistant", content: String(repeating: "words ", count: 20)),
                ]
            }
            try await store.replaceConversation(
                "app", with: [ModelMessage(role: "system", content: "Be brief.")] + seed)
            let opened = try await store.open("last")
            let said = TurnHistory(
                messages: try opened.history.fitted(to: ContextWindow(tokens: 300, reserve: 75)).messages,
                unfinished: []
            ).said
            #expect(said.first == "system Be brief." && said.last == "user last")
            #expect(said.dropFirst().first?.hasPrefix("user question") == true && said.count > 2)
        }
    }
}
