import ChatterdConfiguration
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore
@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// The rows of requests without an identity.
@Suite(.timeLimit(.minutes(30))) struct StatelessTests {
    private static let path = "/v1/chat/completions"
    private static let body =
        #"{"model":"tiny","stream":true,"messages":[{"role":"user","content":"Hi"}]}"#

    /// The keys of the conversations that exist, in hexadecimal digits.
    private func conversations(_ stage: Stage) throws -> [String] {
        try stage.cluster.query(
            "SELECT DISTINCT encode(convert_to(appid, 'UTF8'), 'hex') FROM chatts", database: stage.database
        ).map { $0[0] }
    }

    @Test func replyCanBeReadAgainWhileItRuns() async throws {
        let upstream = try ScriptedUpstream.stalling(after: "Hello")
        try await onStage(upstream: upstream.url) { stage in
            let client = try RawClient(port: stage.port)
            client.post(Self.path, json: Self.body)
            let location = try #require(try client.readHead()["Location"])
            let reader = try stage.follow(location)
            #expect(try reader.nextDataEvent().text == "Hello")
        }
    }

    @Test func noListHasTheConversation() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let answer = try RawClient.post(port: stage.port, Self.path, json: Self.body)
            #expect(answer.status == 200 && answer["X-Conversation-ID"] == nil)
            #expect(try conversations(stage).count == 1)
            _ = try stage.chat("app", "another")
            let list = try stage.send("GET", "/conversations?appID=app")
            #expect((list.json["conversations"] as? [Any])?.count == 1, "\(list.text)")
            // Apps may not read it.
            let location = try #require(answer["Location"])
            #expect(try stage.send("GET", location + "?appID=app").status == 404)
            #expect(try stage.read(location).text.contains("Hello"))
        }
    }

    @Test func rowsAreRemovedSoonAfterTheEnd() async throws {
        let upstream = try ScriptedUpstream { request in
            request.number == 0 ? [.streamHead, .chunk(ModelLine.token("a")), .stall] : .answer(["Hello"])
        }
        try await onStage(upstream: upstream.url) { stage in
            let running = try RawClient(port: stage.port)
            running.post(Self.path, json: Self.body)
            let location = try #require(try running.readHead()["Location"])
            #expect(try RawClient.post(port: stage.port, Self.path, json: Self.body).status == 200)
            _ = try stage.chat("app", "stays")
            #expect(try conversations(stage).count == 3)
            // As if a minute had passed.
            _ = try stage.cluster.query(
                "UPDATE chatterd_conversations SET updated_at = updated_at - interval '2 minutes'",
                database: stage.database)
            let left = try eventually("the ended conversation is removed") {
                let left = try conversations(stage)
                return left.count == 2 ? left : nil
            }
            #expect(left.contains("617070"))
            // The running reply is kept.
            #expect(try stage.describe(location).json["state"] as? String == "streaming")
        }
    }
}
