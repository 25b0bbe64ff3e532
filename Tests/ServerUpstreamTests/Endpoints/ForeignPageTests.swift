import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// A web page of another origin, or with its own host name, cannot read or write unless it is listed.
@Suite(.timeLimit(.minutes(30))) struct ForeignPageTests {
    /// The ways in which pages ask: a form or `no-cors`, a rebound name, an image, a form of old browsers.
    private static let foreign: [(host: String, fields: [(String, String)], status: Int)] = [
        ("127.0.0.1", [("Origin", "https://evil.example"), ("Content-Type", "text/plain")], 403),
        ("127.0.0.1", [("Origin", "null"), ("Content-Type", "application/json")], 403),
        ("localhost", [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors")], 403),
        ("localhost", [("Sec-Fetch-Site", "same-site")], 403),
        ("evil.example", [("Origin", "http://evil.example"), ("Sec-Fetch-Site", "same-origin")], 421),
        ("evil.example:8080", [], 421),
    ]

    private func ask(
        _ stage: Stage, _ method: String, _ path: String, host: String, _ fields: [(String, String)], body: String = ""
    ) throws -> HTTPExchange {
        let client = try RawClient(port: stage.port)
        let lines = ([("Host", host)] + fields).map { "\($0): \($1)\r\n" }.joined()
        client.send("\(method) \(path) HTTP/1.1\r\n\(lines)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        return try client.readResponse(of: method)
    }

    @Test(arguments: foreign.indices)
    func foreignPageNeitherWritesNorReads(index: Int) async throws {
        let (host, fields, status) = Self.foreign[index]
        let upstream = try ScriptedUpstream.answering(["secret answer"])
        try await onStage(upstream: upstream.url) { stage in
            Transcript(try stage.chat("app", "secret prompt")).check()
            let before = try stage.rows("app").map(\.summary)
            let body = chatBody("app", "You are mine.", role: "system")
            for path in ["/llmprep", "/llmchat", "/llmprompt", "/postchatt"] {
                let answer = try ask(stage, "POST", path, host: host, fields, body: body)
                #expect(answer.status == status, "\(path)")
                #expect(answer["access-control-allow-origin"] == nil)
            }
            for (method, path) in [("GET", "/getchatts"), ("GET", "/"), ("DELETE", "/conversations/app")] {
                let answer = try ask(stage, method, path, host: host, fields)
                #expect(answer.status == status && !answer.text.contains("secret"), "\(path)")
            }
            #expect(try ask(stage, "GET", "/healthz", host: host, fields).status == 200)
            #expect(try ask(stage, "GET", "/readyz", host: host, fields).status == 200)
            #expect(try stage.rows("app").map(\.summary) == before)
            #expect(upstream.requests.count == 1)
        }
    }

    @Test func refusalNamesTheSettingThatWouldAllowIt() async throws {
        try await onStage { stage in
            let name = try ask(stage, "GET", "/", host: "chat.example", []).json["error"] as? String
            #expect(name?.contains("CHATTERD_HOSTS") == true)
            let origin = try ask(stage, "GET", "/", host: "localhost", [("Origin", "https://app.example")])
            #expect((origin.json["error"] as? String)?.contains("CHATTERD_ORIGINS") == true)
        }
    }

    @Test func listedNamesAndOriginsAreServed() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(
            upstream: upstream.url,
            environment: [.hosts: "chat.example, box", .origins: "https://app.example,http://localhost:3000"]
        ) { stage in
            for (host, origin) in [("chat.example", "https://app.example"), ("BOX:80", "http://localhost:3000")] {
                let fields = [
                    ("Origin", origin), ("Sec-Fetch-Site", "cross-site"), ("Content-Type", "application/json"),
                ]
                let answer = try ask(stage, "POST", "/llmchat", host: host, fields, body: chatBody("app", "Hi"))
                Transcript(answer).check()
                #expect(answer["access-control-allow-origin"] == origin)
                #expect(answer["access-control-expose-headers"]?.contains("location") == true)
            }
            let preflight = try ask(
                stage, "OPTIONS", "/llmchat", host: "chat.example",
                [("Origin", "https://app.example"), ("Access-Control-Request-Method", "POST")])
            #expect(
                preflight["access-control-allow-headers"]
                    == "anthropic-version, authorization, content-type, idempotency-key, last-event-id, on-disconnect, queue-events, step-events, "
                    + "x-api-key, x-app-id, x-conversation-id, x-history, x-request-id")
            #expect(
                try ask(stage, "GET", "/", host: "chat.example", [("Origin", "https://other.example")]).status == 403)
            #expect(try ask(stage, "GET", "/", host: "other.example", []).status == 421)
        }
    }

    @Test func wildcardAcceptsAnyName() async throws {
        try await onStage(environment: [.hosts: "*"]) { stage in
            let named = try ask(stage, "GET", "/", host: "anything.example", [])
            #expect(named.status == 200)
            let foreign = try ask(stage, "GET", "/", host: "a", [("Origin", "http://b")])
            #expect(foreign.status == 403)
        }
    }

    @Test func pageOfTheSameOriginMustSendJSON() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            let host = "127.0.0.1:\(stage.port)"
            let own = [("Origin", "http://\(host)"), ("Sec-Fetch-Site", "same-origin")]
            for (type, status) in [
                ("application/json", 200), ("text/plain;charset=UTF-8", 415), ("multipart/form-data; boundary=x", 415),
            ] {
                let answer = try ask(
                    stage, "POST", "/llmchat", host: host, own + [("Content-Type", type)], body: chatBody("app", "Hi"))
                #expect(answer.status == status)
            }
        }
    }
}
