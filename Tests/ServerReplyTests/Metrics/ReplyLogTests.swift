import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// The lines of the log about replies and model servers.
@Suite(.timeLimit(.minutes(30))) struct ReplyLogTests {
    private func objects(_ file: LogFile, _ message: String) -> [[String: Any]] {
        file.lines.map { object($0) }.filter { $0["msg"] as? String == message }
    }

    @Test func requestHasItsModelServerTokensAndAttempts() async throws {
        let first = try ScriptedUpstream(.error(500, "broken"))
        let second = try ScriptedUpstream.answering(["Hello"])
        let file = try LogFile()
        let list = severalServers(UpstreamOfList("one", first), UpstreamOfList("two", second))
        try await onStage(environment: list, log: file.log) { stage in
            _ = try stage.chat("app", "prompt")
            let request = try #require(objects(file, "request").first { $0["route"] as? String == "/llmchat" })
            #expect(request["upstream"] as? String == "two" && request["model"] as? String == "tiny")
            #expect(request["prompt_tokens"] as? Int == 18 && request["answer_tokens"] as? Int == 13)
            #expect(request["attempts"] as? Int == 2 && request["first_token_ms"] is Double)
            let failovers = objects(file, "failover")
            #expect(failovers.count == 1)
            #expect(failovers.first?["upstream"] as? String == "one" && failovers.first?["next"] as? String == "two")
            #expect(failovers.first?["subject"] as? String == "before")
            #expect(failovers.first?["code"] as? String == "upstream_error")
        }
    }

    @Test(arguments: [
        ("/healthz", "/healthz"), ("/v1/models", "/v1/models"), ("/api/version", "/api/version"), ("/x", "-"),
    ])
    func requestWithoutAReplyHasItsRouteAndNoModelServer(path: String, route: String) async throws {
        let file = try LogFile()
        try await onStage(log: file.log) { stage in
            _ = try stage.send("GET", path)
            let request = try #require(objects(file, "request").first { $0["route"] as? String == route })
            for member in ["upstream", "model", "prompt_tokens", "answer_tokens", "first_token_ms", "attempts"] {
                #expect(request[member] == nil)
            }
        }
    }

    @Test func changedListOfModelServersIsLogged() async throws {
        let file = try LogFile()
        try await onStage(environment: [.adminToken: testAdminToken], log: file.log) { stage in
            let one = #"{"name":"one","kind":"ollama","url":"http://127.0.0.1:9"}"#
            let two = #"{"name":"one","kind":"ollama","url":"http://127.0.0.1:9","models":["tiny"]}"#
            let added = try stage.call("POST", "/upstreams", one, as: testAdminToken)
            let changed = try stage.call("PUT", "/upstreams/one", two, as: testAdminToken)
            let removed = try stage.call("DELETE", "/upstreams/one", as: testAdminToken)
            #expect([added, changed, removed].map(\.status) == [201, 200, 200])
            for word in ["added", "changed", "removed"] {
                let lines = objects(file, "model server \(word)")
                #expect(lines.compactMap { $0["upstream"] as? String } == ["one"], "\(word)")
            }
        }
    }
}
