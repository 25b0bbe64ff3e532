import ChatterdChat
import ChatterdIdentity
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// Requests with idempotency keys.
@Suite(.timeLimit(.minutes(30))) struct KeyStoreTests {
    @Test func repeatedRequestFindsItsReply() async throws {
        try await StoreProcesses.run { processes in
            let first = Self.opening()
            guard case .opened = try await processes.first.openTurn(first) else { throw TestFailure("not opened") }
            guard case .known(let id) = try await processes.second.openTurn(Self.opening()) else {
                throw TestFailure("not known")
            }
            #expect(id == first.id)
            #expect(try await processes.rowCounts() == ["chatts": 2, "chatterd_keys": 1])
        }
    }

    @Test func keyWithAnotherBodyIsRefused() async throws {
        try await StoreProcesses.run { processes in
            _ = try await processes.first.openTurn(Self.opening())
            #expect(
                await relayCode { _ = try await processes.first.openTurn(Self.opening(digest: [2])) }
                    == .idempotencyKeyReused)
            // Another conversation has its own keys.
            guard case .opened = try await processes.first.openTurn(Self.opening(in: "other")) else {
                throw TestFailure("not opened")
            }
        }
    }

    @Test(arguments: [2, 50])
    func onlyOneOfConcurrentRequestsIsStored(count: Int) async throws {
        try await StoreProcesses.run { processes in
            let outcomes = try await withThrowingTaskGroup(of: (ReplyID, Bool).self) { group in
                for index in 0..<count {
                    group.addTask {
                        let opening = Self.opening()
                        switch try await processes.stores[index % 2].openTurn(opening) {
                        case .opened: return (opening.id, true)
                        case .known(let id): return (id, false)
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.count { $0.1 } == 1)
            #expect(Set(outcomes.map(\.0)).count == 1)
            #expect(try await processes.rowCounts() == ["chatts": 2, "chatterd_keys": 1])
        }
    }

    @Test func keyExpires() async throws {
        try await StoreProcesses.run { processes in
            let first = Self.opening()
            _ = try await processes.first.openTurn(first)
            try await processes.sql("UPDATE chatterd_keys SET expires_at = now() - interval '1 s'")
            for digest: [UInt8] in [[1], [2]] {
                let key = IdempotencyKey(text: "key", digest: digest)
                #expect(try await processes.first.knownReply(in: "app", key: key) == nil)
            }
            let second = Self.opening(digest: [2])
            guard case .opened = try await processes.first.openTurn(second) else { throw TestFailure("not opened") }
            guard case .known(let id) = try await processes.first.openTurn(Self.opening(digest: [2])) else {
                throw TestFailure("not known")
            }
            #expect(id == second.id)
        }
    }

    @Test func keyOfADeletedReplyIsFree() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            _ = try await store.openTurn(Self.opening())
            // The process that removed the conversation died before it removed the keys.
            try await processes.sql("DELETE FROM chatts")
            for digest: [UInt8] in [[1], [2]] {
                let key = IdempotencyKey(text: "key", digest: digest)
                #expect(try await store.knownReply(in: "app", key: key) == nil)
            }
            let second = Self.opening(digest: [2])
            guard case .opened = try await store.openTurn(second) else { throw TestFailure("not opened") }
            #expect(
                try await store.knownReply(in: "app", key: IdempotencyKey(text: "key", digest: [2])) == second.id)
            #expect(try await processes.rowCounts() == ["chatts": 2, "chatterd_keys": 1])
        }
    }

    @Test func requestWithAKeyCanFollowAnyReply() async throws {
        try await StoreProcesses.run { processes in
            let one = try await processes.first.exchange("a", "1")
            try await processes.first.exchange("b", "2")
            var opening = Self.opening()
            opening.parent = .reply(one.id)
            guard case .opened(_, let history, _) = try await processes.first.openTurn(opening) else {
                throw TestFailure("not opened")
            }
            #expect(history.said == ["user a", "assistant 1", "user p"])
        }
    }

    private static func opening(in conversation: ConversationKey = "app", digest: [UInt8] = [1]) -> NewTurn {
        NewTurn(
            conversation: conversation, prompts: [ModelMessage(role: "user", content: "p")], id: .random(), model: "m",
            key: IdempotencyKey(text: "key", digest: digest))
    }
}
