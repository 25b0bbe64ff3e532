import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServerTestSupport

/// `DELETE /conversations/:c`.
@Suite(.timeLimit(.minutes(30))) struct ConversationDeletionTests {
    private func escaped(_ appID: String) -> String {
        appID.utf8.map { byte in
            let isPlain = UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte
            return isPlain ? String(UnicodeScalar(byte)) : "%" + String(format: "%02X", byte)
        }
        .joined()
    }

    @Test func deletedConversationLeavesNoRows() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let key = [("Idempotency-Key", "k")]
            let answer = try stage.ask("app", "secret", fields: key)
            Transcript(answer).check()
            Transcript(try stage.chat("other", "x")).check()
            let location = try #require(answer["Location"])
            for _ in 0..<2 {
                let deleted = try stage.send("DELETE", "/conversations/app")
                #expect(deleted.status == 200)
                #expect(deleted.text == "{}\n")
            }
            #expect(try stage.read(location).status == 404)
            #expect(try stage.rows("app").isEmpty)
            for table in ["chatterd_journal", "chatterd_keys"] {
                let left = try stage.cluster.query(
                    "SELECT count(*) FROM \(table) WHERE appid = 'app'", database: stage.database)
                #expect(left == [["0"]], "\(table)")
            }
            #expect(try stage.rows("other").count == 2)
            // The key is deleted too, and the conversation starts again.
            Transcript(try stage.ask("app", "new", fields: key)).check()
            #expect(upstream.requests.last?.messages == [["user", "new"]])
        }
    }

    @Test(arguments: [
        "a/b", "/", "a b", "100%", "é\u{1f600}", "a%2Fb", "?x=#", "a+b", String(repeating: "é", count: 155),
    ])
    func conversationWithAnyAppIDCanBeDeleted(appID: String) async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            Transcript(try stage.chat(appID, "x")).check()
            #expect(try stage.rows(appID).count == 2)
            #expect(try stage.send("DELETE", "/conversations/\(escaped(appID))").status == 200)
            #expect(try stage.rows(appID).isEmpty)
        }
    }

    @Test func conversationIsRemovedAfterTheRetention() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: [.retention: "1s"]) { stage in
            let location = try #require(
                try stage.ask("app", "secret", fields: [("Idempotency-Key", "k")])["Location"])
            try eventually(
                "no row is left",
                isTrue: {
                    try ["chatts", "chatterd_journal", "chatterd_keys", "chatterd_signals"].allSatisfy { table in
                        try stage.cluster.query(
                            "SELECT count(*) FROM \(table) WHERE appid = 'app'", database: stage.database) == [["0"]]
                    }
                })
            #expect(try stage.read(location).status == 404)
        }
    }

    @Test func tooLongAppIDIsRefused() async throws {
        try await onStage { stage in
            let answer = try stage.send("DELETE", "/conversations/" + String(repeating: "a", count: 156))
            #expect(answer.status == 422)
            #expect(answer.json["code"] as? String == "invalid_request")
        }
    }

    @Test func runningReplyEndsWithItsDeletedConversation() async throws {
        // The model is silent from then on.
        let upstream = try ScriptedUpstream([.streamHead, .chunk(ModelLine.token("Hello")), .stall])
        try await onStage(upstream: upstream.url) { stage in
            let (client, _) = try stage.begin("app", "x")
            _ = try client.nextDataEvent()
            #expect(try stage.send("DELETE", "/conversations/app").status == 200)
            let last = try client.nextDataEvent()
            #expect(object(last.data ?? "")["code"] as? String == "conversation_replaced")
            try upstream.waitForClose(of: upstream.requests[0])
            #expect(try stage.rows("app").isEmpty)
        }
    }
}
