import ChatterdConfiguration
import ChatterdTestSupport
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// `User-Agent` as the name of an app.
@Suite(.timeLimit(.minutes(30))) struct UserAgentTests {
    @Test(
        arguments: [
            ("com.example.Chat", "com.example.Chat"), ("com.example.Chat/1.2 CFNetwork/1490", "com.example.Chat"),
            ("one two", "one"), ("", nil), ("/1", nil), (" one", nil), (String(repeating: "x", count: 156), nil),
            ("é", "é"),
        ] as [(String, String?)])
    func appIsTheFirstProduct(_ field: String, _ app: String?) {
        #expect(UserAgentApp.name(in: field) == app)
    }

    private func ask(_ stage: Stage, _ agent: String, _ fields: [(String, String)] = []) throws -> HTTPExchange {
        try RawClient.post(
            port: stage.port, "/v1/chat/completions",
            json: #"{"model":"tiny","messages":[{"role":"user","content":"Hi"}]}"#,
            fields: [("User-Agent", agent)] + fields)
    }

    /// The apps with conversations.
    private func apps(_ stage: Stage) throws -> [String] {
        let sql = #"SELECT DISTINCT split_part(appid, E'\x1F', 1) COLLATE "C" AS app FROM chatts ORDER BY app"#
        return try stage.cluster.query(sql, database: stage.database).map { $0[0] }
    }

    @Test func appIsNamedIfTheOperatorSaysSo() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: [.userAgentApps: "1"]) { stage in
            #expect(try ask(stage, "com.example.Chat/1.2").status == 200)
            #expect(try apps(stage) == ["com.example.Chat"])
            #expect(try ask(stage, "com.example.Chat", [("X-App-ID", "shop")]).status == 200)
            #expect(try ask(stage, "/1")["X-Conversation-ID"] == nil)
            let response = try RawClient.post(
                port: stage.port, "/v1/responses", json: #"{"model":"tiny","input":"Hi"}"#,
                fields: [("User-Agent", "com.example.Other")])
            #expect(response.status == 200, "\(response.text)")
            #expect(try apps(stage).filter { !$0.isEmpty } == ["com.example.Chat", "com.example.Other", "shop"])
        }
    }

    @Test func appIsNotNamedOtherwise() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let answer = try ask(stage, "com.example.Chat")
            #expect(answer.status == 200 && answer["X-Conversation-ID"] == nil)
        }
        try await onStage(upstream: upstream.url, environment: withKeys.merging([.userAgentApps: "1"]) { $1 }) {
            stage in
            #expect(try ask(stage, "com.example.Chat").status == 401)
            let key = try stage.makeKey("shop")
            let answer = try ask(stage, "com.example.Chat", [("Authorization", "Bearer \(key)")])
            #expect(answer.status == 200, "\(answer.text)")
            #expect(try apps(stage) == ["shop"])
        }
    }
}
