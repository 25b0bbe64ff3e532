import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// The tools that a conversation keeps.
@Suite(.timeLimit(.minutes(30))) struct ToolStoreTests {
    private static let app = ConversationKey(Owner(app: "app"))
    private static let first = #"[{"type":"function","function":{"name":"a"}}]"#
    private static let second = #"[{"type":"function","function":{"name":"b"}}]"#

    private func turn(
        _ tools: String?, in conversation: ConversationKey = app, parent: TurnParent? = nil, key: IdempotencyKey? = nil,
        whenBusy: BusyPolicy = .wait
    ) -> NewTurn {
        var turn = NewTurn(
            conversation: conversation, prompts: [ModelMessage(role: "user", content: "x")], id: .random(), model: "m",
            parent: parent, key: key, whenBusy: whenBusy)
        turn.newTools = tools.map { Array($0.utf8) }
        return turn
    }

    private func kept(_ store: PostgresConversationStore, _ conversation: ConversationKey = app) async throws -> String
    {
        String(decoding: try await store.tools(of: conversation), as: UTF8.self)
    }

    @Test func lastToolsAreKept() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            #expect(try await kept(store).isEmpty)
            for (tools, expected) in [
                (nil, ""), (Self.first, Self.first), (nil, Self.first), (Self.second, Self.second),
                (Self.second, Self.second), ("[]", ""), (nil, ""),
            ] as [(String?, String)] {
                _ = try await store.openTurn(turn(tools))
                #expect(try await kept(store) == expected)
                // Another process, with another kept history, has the same.
                #expect(try await kept(processes.second) == expected)
            }
            #expect(try await kept(store, "other").isEmpty)
        }
    }

    @Test func refusedRequestReplacesNoTools() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let key = IdempotencyKey(text: "k", digest: Array(0..<32))
            _ = try await store.openTurn(turn(Self.first, key: key))
            // The request is known already, the parent is unknown, or another reply runs.
            guard case .known = try await store.openTurn(turn(Self.second, key: key)) else {
                throw TestFailure("the request is new")
            }
            #expect(
                await relayCode { _ = try await store.openTurn(turn(Self.second, parent: .reply(.random()))) }
                    == .replyNotFound)
            #expect(
                await relayCode { _ = try await store.openTurn(turn(Self.second, whenBusy: .refuse)) }
                    == .conversationBusy)
            #expect(try await kept(store) == Self.first)
        }
    }

    /// The statements that open several turns at once store no tools.
    @Test func turnThatChangesToolsIsOpenedAlone() {
        #expect(PostgresConversationStore.sharedSize(of: turn(Self.first)) == nil)
        #expect(PostgresConversationStore.sharedSize(of: turn("[]")) == nil)
        #expect(PostgresConversationStore.sharedSize(of: turn(nil)) != nil)
    }

    /// The row of the conversation is not written by a request that repeats its tools, but for its revision.
    @Test func sameToolsAreNotWrittenAgain() async throws {
        try await StoreProcesses.run { processes in
            _ = try await processes.first.openTurn(turn(Self.first))
            try await processes.sql(
                """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'written'; END $$;
                CREATE TRIGGER refuse BEFORE UPDATE OF tools ON chatterd_conversations
                FOR EACH ROW EXECUTE FUNCTION refuse()
                """)
            _ = try await processes.first.openTurn(turn(Self.first))
            _ = try await processes.first.openTurn(turn(nil))
            #expect(await relayCode { _ = try await processes.first.openTurn(turn(Self.second)) } == .internal)
        }
    }

    @Test func replacedAndRemovedConversationsKeepNoTools() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            _ = try await store.openTurn(turn(Self.first))
            try await store.replaceConversation(Self.app, with: [ModelMessage(role: "system", content: "s")])
            #expect(try await kept(store).isEmpty)
            _ = try await store.openTurn(turn(Self.first))
            #expect(try await kept(store) == Self.first)
            try await store.deleteConversation(Self.app)
            #expect(try await kept(store).isEmpty)
        }
    }

    @Test func copyKeepsTheToolsToo() async throws {
        try await StoreProcesses.run { processes in
            let opened = turn(Self.first)
            guard case .opened(let turn, _, _) = try await processes.first.openTurn(opened) else {
                throw TestFailure("the turn is known")
            }
            let stored = StoredTurn(turn: turn, id: opened.id, history: TurnHistory(unreadBehind: []))
            try await processes.first.closeTurn(turn, with: stored.closing("a"))
            let copy = ConversationKey(Owner(app: "app"), name: "copy")
            try await processes.archive().fork(Self.app, at: nil, to: copy, title: nil)
            #expect(try await kept(processes.first, copy) == Self.first)
        }
    }
}
