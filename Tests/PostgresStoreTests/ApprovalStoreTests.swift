import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// The steps of running replies, and the answers to calls that wait for an approval, in the database.
@Suite(.timeLimit(.minutes(30))) struct ApprovalStoreTests {
    private static let steps = Array(
        (#""steps":[{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{}}}]},"#
            + #"{"role":"tool","content":"1","tool_name":"f","state":"asked"}]"#).utf8)

    private static func place(_ index: Int) -> StepPlace { StepPlace(round: 0, index: index) }

    @Test func stepsAreReadWhenTheirVersionHasChanged() async throws {
        try await StoreProcesses.run { processes in
            let (store, other) = (processes.first, processes.second)
            let opened = try await store.open("p")
            let record = try await other.record(opened)
            func page(_ version: String?) async throws -> ReplyPage {
                try await other.readReply(record, from: ReplyPosition(), steps: version)
            }
            #expect(try await page("").steps == nil)
            try await store.storeSteps(Self.steps, of: opened.turn, id: opened.id, attempt: 1)
            #expect(try await page(nil).steps == nil)
            let found = try #require(try await page("").steps)
            #expect(found.steps.asked.map(\.call.name) == ["f"])
            #expect(try await page(found.version).steps == nil)
            try await store.storeSteps(Self.steps, of: opened.turn, id: opened.id, attempt: 1)
            #expect(try await page(found.version).steps != nil)
            try await store.closeTurn(opened.turn, with: opened.closing("ok"))
            #expect(try await page(nil).steps?.steps.rounds.count == 1)
        }
    }

    @Test func firstAnswerOfManyAtOnceCounts() async throws {
        try await StoreProcesses.run { processes in
            let opened = try await processes.first.open("p")
            let found = try await withThrowingTaskGroup(of: CallApprovals.self) { group in
                for index in 0..<12 {
                    let store = index % 2 == 0 ? processes.first : processes.second
                    group.addTask {
                        try await store.answer(
                            index % 3 == 0 ? .approved : .refused, to: Self.place(0), of: opened.turn, id: opened.id)
                    }
                }
                return try await group.reduce(into: [CallApprovals]()) { $0.append($1) }
            }
            #expect(found.allSatisfy { $0 == found[0] } && found[0][Self.place(0)] != nil)
        }
    }

    @Test func answersOfSeveralCallsAreKept() async throws {
        try await StoreProcesses.run { processes in
            let (store, other) = (processes.first, processes.second)
            let opened = try await store.open("p")
            let (turn, id) = (opened.turn, opened.id)
            _ = try await other.answer(.approved, to: Self.place(10), of: turn, id: id)
            _ = try await other.answer(.refused, to: Self.place(0), of: turn, id: id)
            _ = try await other.answer(.missed, to: Self.place(1), of: turn, id: id)
            let found = try await store.approvals(of: turn, id: id)
            #expect([10, 0, 1, 2].map { found[Self.place($0)] } == [.approved, .refused, .missed, nil])
            #expect(try await store.steps(of: turn, id: id).approvals == found)
        }
    }

    @Test func replyThatHasEndedTakesNoAnswer() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            let (turn, id) = (opened.turn, opened.id)
            _ = try await store.answer(.approved, to: Self.place(0), of: turn, id: id)
            try await store.closeTurn(turn, with: opened.closing("ok"))
            let found = try await store.answer(.approved, to: Self.place(1), of: turn, id: id)
            #expect(found[Self.place(0)] == .approved && found[Self.place(1)] == nil)
            await #expect(throws: RelayError.self) {
                _ = try await store.answer(.approved, to: Self.place(0), of: turn, id: ReplyID.random())
            }
        }
    }

    /// The owner writes its steps, and another process an answer: neither loses what the other has written.
    @Test func stepsAndAnswersAreIndependent() async throws {
        try await StoreProcesses.run { processes in
            let (store, other) = (processes.first, processes.second)
            let opened = try await store.open("p")
            let (turn, id) = (opened.turn, opened.id)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<8 {
                    group.addTask { try await store.storeSteps(Self.steps, of: turn, id: id, attempt: 1) }
                    group.addTask { _ = try await other.answer(.approved, to: Self.place(index), of: turn, id: id) }
                }
                try await group.waitForAll()
            }
            let found = try await store.steps(of: turn, id: id)
            #expect(found.members == Self.steps)
            #expect((0..<8).allSatisfy { found.approvals[Self.place($0)] == .approved })
        }
    }
}
