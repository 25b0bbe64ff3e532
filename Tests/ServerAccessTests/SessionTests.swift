import ChatterdConfiguration
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// Sessions of web pages: `/session`, and requests with its cookie.
@Suite(.timeLimit(.minutes(30))) struct SessionTests {
    private static let header = ("X-Chatterd-Session", "1")

    /// Exchanges a credential for a session; returns the cookie as the browser sends it.
    private func makeSession(_ stage: Stage, _ credential: String, _ json: String? = nil) throws -> String {
        let made = try stage.call("POST", "/session", json, as: credential)
        #expect(made.status == 201, "\(made.text)")
        let cookie = try #require(made["Set-Cookie"])
        for attribute in ["; HttpOnly", "; SameSite=Strict", "; Path=/"] {
            #expect(cookie.contains(attribute))
        }
        #expect(!cookie.contains("Secure"), "the connection has no TLS")
        #expect(made["Cache-Control"] == "no-store")
        #expect(!made.text.contains(credential))
        return String(cookie.prefix { $0 != ";" })
    }

    @Test func sessionActsForItsPerson() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let token = try stage.makeToken(try stage.makeKey("shop"), person: "ada")
            let cookie = ("Cookie", "theme=dark; \(try makeSession(stage, token)); other=1")
            let shown = try stage.call("GET", "/session", as: nil, fields: [cookie])
            #expect(shown.json["app"] as? String == "shop" && shown.json["person"] as? String == "ada")
            Transcript(try stage.call("POST", "/llmchat", prompt("x"), as: nil, fields: [cookie, Self.header])).check()
            #expect(try stage.rows("shop\u{1F}ada\u{1F}").count == 2)
        }
    }

    @Test func sessionChangesDataOnlyWithItsField() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let cookie = ("Cookie", try makeSession(stage, key))
            for (method, path) in [("POST", "/llmchat"), ("DELETE", "/conversations/shop"), ("DELETE", "/session")] {
                #expect(try stage.call(method, path, prompt("x"), as: nil, fields: [cookie]).status == 403, "\(path)")
            }
            #expect(try stage.rows("shop").isEmpty)
            #expect(try stage.call("GET", "/models", as: nil, fields: [cookie]).status == 200)
        }
    }

    @Test func endedSessionIsRefusedByAllProcessesAndItsStreamsEnd() async throws {
        let upstream = try ScriptedUpstream.stalling(after: "first")
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let other = try stage.startAnother()
            let key = try stage.makeKey("shop")
            let cookie = ("Cookie", try makeSession(stage, key))
            let stream = try RawClient(port: other.port)
            stream.post("/llmchat", json: prompt("x"), fields: [cookie, Self.header])
            #expect(try stream.readHead().status == 200)
            try stream.nextDataEvent(containing: "first")
            let ended = try stage.call("DELETE", "/session", as: nil, fields: [cookie, Self.header])
            #expect(ended.status == 200 && ended["Set-Cookie"]?.contains("Max-Age=0") == true)
            let event = try stream.nextDataEvent(containing: "unauthorized")
            #expect(event.name == "error")
            while try stage.call("GET", "/models", as: nil, fields: [cookie]).status == 200 {}
            // The browser that still has the cookie can drop it, and the key makes a new session.
            #expect(try stage.call("DELETE", "/session", as: nil, fields: [cookie, Self.header]).status == 200)
            _ = try makeSession(stage, key)
            try other.stop()
        }
    }

    @Test func requestWithoutASessionAddsNoRevocation() async throws {
        try await onStage(environment: withKeys) { stage in
            func revocations() throws -> [[String]] {
                try stage.cluster.query("SELECT count(*) FROM chatterd_revocations", database: stage.database)
            }
            let cookie = try makeSession(stage, try stage.makeKey("shop"))
            let many = (0..<50).map { "chatterd_session=\($0)" }.joined(separator: "; ")
            for (value, status) in [("chatterd_session=x", 200), (many, 401), ("\(cookie); \(many)", 401)] {
                for credential in [nil, "x"] {
                    let ended = try stage.call(
                        "DELETE", "/session", as: credential, fields: [("Cookie", value), Self.header])
                    #expect(ended.status == status, "\(value): \(ended.text)")
                    #expect(status == 200 || ended.text.contains("several credentials"), "\(ended.text)")
                }
            }
            #expect(try revocations() == [["0"]])
            #expect(try stage.call("GET", "/session", as: nil, fields: [("Cookie", cookie)]).status == 200)
            for _ in 0..<2 {
                let ended = try stage.call("DELETE", "/session", as: nil, fields: [("Cookie", cookie), Self.header])
                #expect(ended.status == 200)
                #expect(try revocations() == [["1"]])
            }
        }
    }

    @Test func sessionEndsWithItsCredential() async throws {
        try await onStage(environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let cookies = [
                ("Cookie", try makeSession(stage, key)),
                ("Cookie", try makeSession(stage, try stage.makeToken(key, person: "ada"))),
            ]
            #expect(try stage.call("DELETE", "/keys/\(Stage.id(of: key))", as: testAdminToken).status == 200)
            for cookie in cookies {
                while try stage.call("GET", "/models", as: nil, fields: [cookie]).status == 200 {}
                #expect(try stage.call("GET", "/models", as: nil, fields: [cookie]).status == 401)
            }
        }
    }

    @Test func sessionLivesNoLongerThanItsCredential() async throws {
        try await onStage(environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let token = try stage.makeToken(key, person: "ada", adding: #","expires_in":60"#)
            let made = try stage.call("POST", "/session", #"{"expires_in":86400}"#, as: token)
            let age = try #require(made["Set-Cookie"]?.firstMatch(of: #/Max-Age=(\d+)/#)?.1)
            #expect(try #require(Int(age)) <= 60)
            let short = try makeSession(stage, key, #"{"expires_in":1}"#)
            while try stage.call("GET", "/session", as: nil, fields: [("Cookie", short)]).status == 200 {}
            #expect(try stage.call("GET", "/session", as: nil, fields: [("Cookie", short)]).status == 401)
        }
    }

    @Test func administratorsSessionHasNoApp() async throws {
        try await onStage(environment: withKeys) { stage in
            let cookie = ("Cookie", try makeSession(stage, testAdminToken))
            #expect(try stage.call("GET", "/keys", as: nil, fields: [cookie]).status == 200)
            #expect(
                try stage.call("POST", "/llmchat", prompt("x"), as: nil, fields: [cookie, Self.header]).status == 403)
            // Another token of the administrator ends the sessions of the earlier one.
            let changed = withKeys.merging([.adminToken: "another-admin-token-of-the-test"]) { $1 }
            let later = try stage.startAnother(environment: changed)
            #expect(try later.call("GET", "/keys", as: nil, fields: [cookie]).status == 401)
            try later.stop()
        }
    }

    @Test func sessionIsMadeWithAKeyOrATokenOnly() async throws {
        try await onStage(environment: withKeys) { stage in
            let cookie = ("Cookie", try makeSession(stage, try stage.makeKey("shop")))
            #expect(try stage.call("POST", "/session", as: nil).status == 401)
            #expect(try stage.call("POST", "/session", as: nil, fields: [cookie, Self.header]).status == 401)
            for value in ["chatterd_session=", "chatterd_session=x", "chatterd_session=a; chatterd_session=b"] {
                #expect(
                    try stage.call("GET", "/models", as: nil, fields: [("Cookie", value)]).status == 401, "\(value)")
            }
            // A token is no cookie, and a cookie no token.
            let value = String(cookie.1.dropFirst("chatterd_session=".count))
            #expect(try stage.call("GET", "/models", as: value).status == 401)
            let token = try stage.makeToken(try stage.makeKey("shop"), person: "ada")
            let swapped = ("Cookie", "chatterd_session=\(token)")
            #expect(try stage.call("GET", "/models", as: nil, fields: [swapped]).status == 401)
        }
    }
}
