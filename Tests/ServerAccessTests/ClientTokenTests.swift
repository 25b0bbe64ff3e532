import ChatterdConfiguration
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// Client tokens of people: `POST /tokens`, and requests with them.
@Suite(.timeLimit(.minutes(30))) struct ClientTokenTests {
    @Test func peopleOfAnAppHaveTheirOwnConversations() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let (ada, bob) = (try stage.makeToken(key, person: "ada"), try stage.makeToken(key, person: "bob"))
            for (text, credential) in [("of ada", ada), ("of bob", bob), ("of the app", key)] {
                Transcript(try stage.call("POST", "/llmchat", prompt(text), as: credential)).check()
                #expect(upstream.requests.last?.messages == [["user", text]])
            }
            Transcript(try stage.call("POST", "/llmchat", prompt("more"), as: ada)).check()
            #expect(
                upstream.requests.last?.messages == [["user", "of ada"], ["assistant", "Hello"], ["user", "more"]])
            #expect(try stage.rows("shop\u{1F}ada\u{1F}").count == 4)
            #expect(try stage.rows("shop").count == 2)
        }
    }

    @Test func replyOfAnotherPersonIsUnknown() async throws {
        let upstream = try ScriptedUpstream.answering(["secret"])
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let (ada, bob) = (try stage.makeToken(key, person: "ada"), try stage.makeToken(key, person: "bob"))
            let location = try #require(try stage.call("POST", "/llmchat", prompt("one"), as: ada)["Location"])
            for credential in [bob, key] {
                for (method, path) in [
                    ("GET", location), ("DELETE", location), ("POST", location + "/regenerate"),
                    ("POST", location + "/choose"),
                ] {
                    let refusal = try stage.call(method, path, as: credential)
                    #expect(refusal.status == 404)
                    #expect(!refusal.text.contains("secret"))
                }
            }
            #expect(try stage.call("GET", location, as: ada).status == 200)
        }
    }

    @Test func tokenPermitsItsConversationsAndModelsOnly() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let token = try stage.makeToken(key, person: "ada", adding: #","conversations":["trip"],"models":["tiny"]"#)
            let trip = #","conversation":"trip""#
            Transcript(try stage.call("POST", "/llmchat", prompt("x", adding: trip), as: token)).check()
            #expect(try stage.call("POST", "/llmchat", prompt("x"), as: token).status == 403)
            #expect(try stage.call("DELETE", "/conversations/other", as: token).status == 403)
            let large = prompt("x", adding: trip).replacing("tiny", with: "large")
            #expect(try stage.call("POST", "/llmchat", large, as: token).status == 403)
            let whole = try stage.makeToken(key, person: "ada")
            let location = try #require(try stage.call("POST", "/llmchat", prompt("x"), as: whole)["Location"])
            #expect(try stage.call("GET", location, as: token).status == 404)
        }
    }

    @Test func tokenHasNoMoreRightsThanItsKey() async throws {
        try await onStage(environment: withKeys) { stage in
            let key = try stage.makeKey(
                "shop", adding: #","scopes":["read","tokens"],"models":["tiny"],"expires_in":60"#)
            #expect(try stage.call("POST", "/tokens", #"{"person":"a","scopes":["chat"]}"#, as: key).status == 403)
            #expect(try stage.call("POST", "/tokens", #"{"person":"a","scopes":["tokens"]}"#, as: key).status == 403)
            #expect(try stage.call("POST", "/tokens", #"{"person":"a","models":["large"]}"#, as: key).status == 403)
            let made = try stage.call("POST", "/tokens", #"{"person":"a","expires_in":3600}"#, as: key)
            #expect(try #require(made.json["expires_in"] as? Int) <= 60)
            let token = try #require(made.json["access_token"] as? String)
            #expect(try stage.call("POST", "/llmchat", prompt("x"), as: token).status == 403)
            #expect(try stage.call("POST", "/tokens", #"{"person":"b"}"#, as: token).status == 403)
            #expect(try stage.call("DELETE", "/people/b", as: token).status == 403)
            #expect(try stage.call("POST", "/tokens", #"{"person":"b"}"#, as: testAdminToken).status == 403)
        }
    }

    @Test func changedTokenIsRefused() async throws {
        try await onStage(environment: withKeys) { stage in
            let token = try stage.makeToken(try stage.makeKey("shop"), person: "ada")
            #expect(try stage.call("GET", "/models", as: token).status == 200)
            let parts = token.split(separator: ".").map(String.init)
            let changed = [
                parts[0] + "." + parts[1] + ".", parts[0] + "." + parts[1],
                parts[0] + "." + String(parts[1].dropLast()) + "." + parts[2],
                "eyJhbGciOiJub25lIn0." + parts[1] + ".", "eyJhbGciOiJub25lIn0." + parts[1] + "." + parts[2],
            ]
            for text in changed {
                #expect(try stage.call("GET", "/models", as: text).status == 401)
            }
        }
    }

    @Test func tokenOfAnotherServerIsRefused() async throws {
        try await onStage(environment: withKeys) { one in
            let token = try one.makeToken(try one.makeKey("shop"), person: "ada")
            let other = try Stage(environment: withKeys)
            _ = try other.makeKey("shop")
            #expect(try other.call("GET", "/models", as: token).status == 401)
            try other.stop()
        }
    }

    @Test func tokenIsValidAtEveryProcessOfTheDatabase() async throws {
        try await onStage(environment: withKeys) { one in
            let other = try Stage(environment: withKeys, cluster: one.cluster, database: one.database)
            let token = try one.makeToken(try one.makeKey("shop"), person: "ada")
            #expect(try other.call("GET", "/models", as: token).status == 200)
            try other.stop()
        }
    }
}
