import ChatterdConfiguration
import ChatterdServer
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServerTestSupport

/// Security incidents of comparable servers, each as a test of this one.
@Suite(.timeLimit(.minutes(30))) struct IncidentTests {
    private static let root = String(
        #filePath[..<(#filePath.firstRange(of: "/Tests/")?.lowerBound ?? #filePath.endIndex)])

    /// LiteLLM put the token into the text of a statement.
    @Test func cve_2026_42208_credentialIsNoSQL() async throws {
        try await onStage(environment: withKeys) { stage in
            _ = try stage.makeKey("shop")
            for text in ["' OR '1'='1", "chatterd_' OR 1=1 --", "\\'; DROP TABLE chatts; --", "$$; SELECT 1"] {
                for field in [
                    ("Authorization", "Bearer \(text)"), ("x-api-key", text), ("Cookie", "chatterd_session=\(text)"),
                ] {
                    #expect(try stage.call("GET", "/models", as: nil, fields: [field]).status == 401, "\(text)")
                }
            }
            #expect(try stage.rows("shop").isEmpty)
        }
    }

    /// The same incident: each statement is a constant, and values are parameters.
    @Test func cve_2026_42208_statementsAreConstants() throws {
        var count = 0
        for case let file as URL in FileManager.default.enumerator(
            at: URL(filePath: Self.root + "/Sources"), includingPropertiesForKeys: nil) ?? .init()
        where file.pathExtension == "swift" && file.lastPathComponent != "Statement.swift" {
            let lines = try String(contentsOf: file, encoding: .utf8).split(
                separator: "\n", omittingEmptySubsequences: false)
            for (index, line) in lines.enumerated() where line.contains(#/\bStatement\((?:\s*"|$)/#) {
                let declaration = lines[max(0, index - 2)...index].joined(separator: " ")
                // A step of a migration is a text of the program, too.
                let isConstant = declaration.contains("static let") || declaration.contains("sql: step.sql")
                #expect(isConstant, "\(file.lastPathComponent):\(index + 1)")
                count += 1
            }
        }
        #expect(count > 100)
    }

    /// LiteLLM's cache of identities used the beginning of a token as its key.
    @Test func cve_2026_35030_tokensWithTheSameBeginningAreDifferentPeople() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let tokens = try ["ada", "adb"].map { try stage.makeToken(key, person: $0) }
            #expect(tokens[0].prefix(60) == tokens[1].prefix(60))
            for round in 1...2 {
                for token in tokens {
                    Transcript(try stage.call("POST", "/llmchat", prompt("of \(token.suffix(4))"), as: token)).check()
                    #expect(upstream.requests.last?.messages.count == 2 * round - 1)
                }
            }
        }
    }

    /// LiteLLM let any user change the configuration, and accepted the stored hash of a key as the key.
    @Test func cve_2026_35029_administrationNeedsTheScopeAndAHashIsNoKey() async throws {
        try await onStage(environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            for (method, path) in [
                ("GET", "/keys"), ("POST", "/keys"), ("DELETE", "/keys/\(Stage.id(of: key))"), ("GET", "/audit"),
                ("GET", "/upstreams"), ("POST", "/upstreams"), ("PUT", "/upstreams/ollama"),
                ("DELETE", "/upstreams/ollama"),
                ("POST", "/upstreams/ollama/test"),
            ] {
                #expect(try stage.call(method, path, as: key).status == 403, "\(method) \(path)")
            }
            let hash = try stage.cluster.query(
                "SELECT encode(hash, 'hex'), encode(hash, 'base64') FROM chatterd_app_keys", database: stage.database)[
                    0]
            for text in hash + hash.map({ "chatterd_\(Stage.id(of: key))_\($0)" }) {
                #expect(try stage.call("GET", "/models", as: text).status == 401)
            }
        }
    }

    /// LiteLLM sent the key of a provider to the address that a request named.
    @Test func cve_2024_6587_requestNamesNoAddress() async throws {
        let (upstream, foreign) = (
            try ScriptedUpstream.answering(["Hello"]), try ScriptedUpstream.answering(["foreign"])
        )
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            for member in ["api_base", "base_url", "url", "upstream", "host"] {
                let body = prompt("x", adding: #","\#(member)":"\#(foreign.url)""#)
                _ = try stage.call("POST", "/llmchat", body, as: key, fields: [("X-Upstream-URL", foreign.url)])
            }
            #expect(foreign.connectionCount == 0)
        }
    }

    /// LiteLLM's logs of guardrails kept the field `Authorization`.
    @Test func guardrailLogs_credentialsAreNeitherLoggedNorStored() async throws {
        let file = try LogFile()
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: withKeys, log: file.log) { stage in
            let key = try stage.makeKey("shop")
            let token = try stage.makeToken(key, person: "ada")
            let cookie = try #require(try stage.call("POST", "/session", as: key)["Set-Cookie"]).prefix { $0 != ";" }
            let location = try #require(try stage.call("POST", "/llmchat", prompt("canary"), as: token)["Location"])
            let id = location.dropFirst("/replies/".count)
            let link = try #require(
                try stage.call("POST", "/links", #"{"reply":"\#(id)"}"#, as: token).json["link"] as? String)
            #expect(try stage.call("GET", location + "?link=" + link, as: nil).status == 200)
            for text in [key + "x", token + "x", "chatterd_wrong"] {
                _ = try stage.call("GET", "/keys", as: text, fields: [("Cookie", String(cookie))])
                _ = try stage.call("GET", "/models?link=\(link)x", as: nil)
            }
            let tables = try stage.cluster.query(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'",
                database: stage.database)
            let rows = try tables.flatMap {
                try stage.cluster.query("SELECT t::text FROM \($0[0]) t", database: stage.database)
            }.joined().joined()
            #expect(rows.contains("canary"), "the test reads the rows")
            let log = file.lines.joined()
            for secret in [String(key.suffix(43)), token, String(cookie.dropFirst("chatterd_session=".count)), link] {
                #expect(!log.contains(secret) && !rows.contains(secret))
            }
            #expect(!log.contains("canary"))
        }
    }

    /// LibreChat let any user resume the stream of another.
    @Test func cve_2026_31950_runningStreamOfAnotherPersonIsUnknown() async throws {
        let upstream = try ScriptedUpstream.stalling(after: "secret")
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let (ada, bob) = (try stage.makeToken(key, person: "ada"), try stage.makeToken(key, person: "bob"))
            let client = try RawClient(port: stage.port)
            client.post("/llmchat", json: prompt("x"), fields: [("Authorization", "Bearer \(ada)")])
            let location = try #require(try client.readHead()["Location"])
            let event = try client.nextDataEvent()
            for fields in [[], [("Last-Event-ID", event.id ?? "")], [("Accept", "application/json")]] {
                let refusal = try stage.call("GET", location, as: bob, fields: fields)
                #expect(refusal.status == 404 && !refusal.text.contains("secret"))
            }
            #expect(try stage.call("GET", location + "?appID=shop", as: bob).status == 404)
        }
    }

    /// A DELETE without a body ended LibreChat's process.
    @Test func cve_2026_31949_wrongBodiesEndNoProcess() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop", adding: #","scopes":["chat","read","tokens","admin"]"#)
            for route in Route.allCases where route != .none {
                let path = route.rawValue.replacing(#/:[a-z]+/#, with: "x")
                for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
                    for body in [nil, "", "null", "[]", "{", "\u{0}", #"{"a":1}"#, "\"x\""] {
                        let answer = try stage.call(method, path, body, as: key)
                        #expect(answer.status < 500, "\(method) \(path) \(body ?? "-"): \(answer.text)")
                    }
                }
            }
            #expect(try stage.call("GET", "/readyz", as: nil).status == 200)
        }
    }

    /// Open WebUI continued the chat of another user whose id a request named.
    @Test func cve_2026_45349_conversationBelongsToTheCredential() async throws {
        let upstream = try ScriptedUpstream.answering(["secret"])
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let (ada, bob) = (try stage.makeToken(key, person: "ada"), try stage.makeToken(key, person: "bob"))
            let trip = #","conversation":"trip""#
            let location = try #require(
                try stage.call("POST", "/llmchat", prompt("one", adding: trip), as: ada)["Location"])
            let id = location.dropFirst("/replies/".count)
            let before = try stage.rows("shop\u{1F}ada\u{1F}trip").count
            let foreign = try stage.call(
                "POST", "/llmchat", prompt("x", adding: trip + #","parent":"\#(id)""#), as: bob)
            #expect(foreign.status == 404, "\(foreign.text)")
            for name in ["shop\u{1F}ada\u{1F}trip", "ada\u{1F}trip", "\u{1F}ada\u{1F}trip"] {
                let body = prompt("x", adding: #","conversation":\#(jsonString(name))"#)
                #expect(try stage.call("POST", "/llmchat", body, as: bob).status == 422)
            }
            Transcript(try stage.call("POST", "/llmchat", prompt("x", adding: trip), as: bob)).check()
            #expect(upstream.requests.last?.messages == [["user", "x"]])
            #expect(try stage.rows("shop\u{1F}ada\u{1F}trip").count == before)
        }
    }

    /// Open WebUI's restrictions of `Authorization` did not hold for `x-api-key`.
    @Test func cve_2026_45339_restrictionsHoldForBothFields() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop", adding: #","scopes":["chat"],"models":["tiny"]"#)
            for fields in [[("Authorization", "Bearer \(key)")], [("x-api-key", key)]] {
                #expect(try stage.call("GET", "/conversations", as: nil, fields: fields).status == 403)
                let large = prompt("x").replacing("tiny", with: "large")
                #expect(try stage.call("POST", "/llmchat", large, as: nil, fields: fields).status == 403)
                Transcript(try stage.call("POST", "/llmchat", prompt("x"), as: nil, fields: fields)).check()
            }
            let both = [("Authorization", "Bearer \(key)"), ("x-api-key", try stage.makeKey("other"))]
            #expect(try stage.call("GET", "/models", as: nil, fields: both).status == 401)
        }
    }

    /// Open WebUI's revoked users kept their sockets.
    @Test func cve_2026_44553_revocationEndsOpenStreams() async throws {
        let upstream = try ScriptedUpstream.stalling(after: "first")
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let ada = try stage.makeToken(key, person: "ada")
            let client = try RawClient(port: stage.port)
            client.post("/llmchat", json: prompt("x"), fields: [("Authorization", "Bearer \(ada)")])
            #expect(try client.readHead().status == 200)
            try client.nextDataEvent(containing: "first")
            #expect(try stage.call("DELETE", "/people/ada", as: key).status == 200)
            let event = try client.nextDataEvent(containing: "unauthorized")
            #expect(event.name == "error")
        }
    }

    /// Open WebUI followed redirects of model servers to internal addresses.
    @Test func cve_2026_45400_redirectsOfModelServersAreNotFollowed() async throws {
        let inner = try ScriptedUpstream.answering(["inner"])
        let upstream = try ScriptedUpstream([
            .head(302, [("Location", inner.url + "/api/chat"), ("Content-Length", "0")]), .close,
        ])
        try await onStage(upstream: upstream.url) { stage in
            let answer = try stage.ask("app", "x")
            #expect(!answer.text.contains("inner"))
            #expect(inner.requests.isEmpty)
        }
    }

    /// new-api used wildcards of a search, and returned what others had asked for.
    @Test func cve_2026_25591_wildcardsAreText() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let (ada, percent) = (try stage.makeToken(key, person: "ada"), try stage.makeToken(key, person: "%"))
            Transcript(try stage.call("POST", "/llmchat", prompt("plain"), as: ada)).check()
            Transcript(try stage.call("POST", "/llmchat", prompt("100 % sure"), as: percent)).check()
            func hits(_ text: String, _ credential: String) throws -> Int {
                let found = try stage.call("GET", "/conversations?q=\(text)", as: credential)
                return try #require(found.json["conversations"] as? [Any], "\(found.text)").count
            }
            #expect(try hits("%25", ada) == 0 && hits("_", ada) == 0 && hits("plain", ada) == 1)
            #expect(try hits("%25", percent) == 1 && hits("plain", percent) == 0)
        }
    }

    /// Hono, h3 and sse-channel let a text end an event and begin another one.
    @Test func cve_2026_29085_textOfAModelIsNoField() async throws {
        let hostile = "a\r\n\r\nevent: error\ndata: {}\n\nid: 7\rretry: 1\r\n: x"
        let upstream = try ScriptedUpstream.answering([hostile])
        try await onStage(upstream: upstream.url) { stage in
            let answer = try stage.ask("app", "x")
            Transcript(answer).check()
            #expect(answer.events.map(\.text).joined() == hostile)
            #expect(!answer.events.contains { $0.name == "error" })
        }
    }

    /// 175,000 Ollama servers are open to the internet.
    @Test func openServers_startBeyondTheLoopbackNeedsAKey() async throws {
        try await onStage { stage in
            do {
                let open = try stage.startAnother(environment: [.listen: "0.0.0.0:0"])
                try open.stop()
                Issue.record("the server started without a key")
            } catch let error as StartError {
                #expect(error.description.contains("chatterd keys create --app NAME"))
            }
        }
    }

    /// Servers and proxies that frame a request differently let one client write the request of another.
    @Test func requestSmuggling_ambiguousFramingIsRefused() async throws {
        try await onStage { stage in
            for fields in [
                "Content-Length: 4\r\nTransfer-Encoding: chunked", "Content-Length: 4\r\nContent-Length: 5",
                "Transfer-Encoding: chunked, identity", "Transfer-Encoding : chunked", "Content-Length: +4",
            ] {
                let client = try RawClient(port: stage.port)
                client.send(
                    "POST /llmprep HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n")
                let answer = try client.readResponse()
                #expect([400, 501].contains(answer.status), "\(fields)")
                #expect(client.readToEnd().bytes.isEmpty, "\(fields): the connection ends")
            }
        }
    }
}
