import ChatterdConfiguration
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// Keys of apps: `/keys`, and requests with them.
@Suite(.timeLimit(.minutes(30))) struct AppKeyTests {
    @Test func keyNamesTheApp() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            Transcript(try stage.call("POST", "/llmchat", prompt("one"), as: key)).check()
            Transcript(try stage.call("POST", "/llmchat", chatBody("shop", "two"), as: key)).check()
            #expect(try stage.rows("shop").count == 4)
            let other = try stage.call("POST", "/llmchat", chatBody("other", "three"), as: key)
            #expect(other.status == 403)
            #expect(other.json["code"] as? String == "forbidden")
            #expect(try stage.rows("other").isEmpty)
        }
    }

    @Test(arguments: [true, false])
    func bothFieldsCarryTheKey(isAPIKey: Bool) async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let field = isAPIKey ? ("x-api-key", key) : ("Authorization", "bearer  \(key)")
            Transcript(try stage.call("POST", "/llmchat", prompt("one"), as: nil, fields: [field])).check()
            let both = try stage.call("POST", "/llmchat", prompt("one"), as: "another", fields: [("x-api-key", key)])
            #expect(both.status == 401)
        }
    }

    @Test func requestsWithoutAValidKeyAreRefusedAndStoreNoRow() async throws {
        try await onStage(environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let wrong = Stage.changed(key)
            for credential in [
                nil, "", "none", wrong, String(key.dropLast()), key + "A", "chatterd_", "a.b.c", "a.b.c.d.e",
            ] {
                for (method, path) in [
                    ("POST", "/llmchat"), ("POST", "/llmtools"), ("POST", "/llmprep"), ("POST", "/llmprompt"),
                    ("GET", "/replies/x"),
                    ("DELETE", "/conversations/shop"), ("POST", "/postchatt"), ("GET", "/getchatts"),
                    ("GET", "/models"),
                    ("POST", "/keys"), ("GET", "/keys"), ("POST", "/tokens"), ("GET", "/audit"), ("GET", "/upstreams"),
                ] {
                    let refusal = try stage.call(method, path, chatBody("shop", "x"), as: credential)
                    #expect(refusal.status == 401, "\(method) \(path) \(credential ?? "none")")
                    #expect(refusal["WWW-Authenticate"] == "Bearer")
                    #expect(refusal.json["code"] as? String == "unauthorized")
                }
            }
            #expect(try stage.rows("shop").isEmpty)
            for path in ["/", "/healthz", "/readyz"] {
                #expect(try stage.call("GET", path, as: nil).status == 200)
            }
        }
    }

    @Test func keyIsListedWithoutItsSecretAndStoredAsADigest() async throws {
        try await onStage(environment: withKeys) { stage in
            let key = try stage.makeKey(
                "shop", adding: #","label":"till 3","models":["tiny"],"expires_in":3600"#)
            _ = try stage.makeKey("other")
            let list = try stage.call("GET", "/keys?app=shop", as: testAdminToken)
            let keys = try #require(list.json["keys"] as? [[String: Any]])
            #expect(keys.count == 1 && keys[0]["id"] as? String == Stage.id(of: key))
            #expect(keys[0]["label"] as? String == "till 3")
            let secret = String(key.suffix(43))
            #expect(!list.text.contains(secret))
            let stored = try stage.cluster.query(
                "SELECT k::text FROM chatterd_app_keys k UNION ALL SELECT a::text FROM chatterd_audit a",
                database: stage.database)
            #expect(stored.count == 4 && !stored.joined().contains { $0.contains(secret) })
        }
    }

    @Test(arguments: [
        "{}", "[]", #"{"app":""}"#, #"{"app":"a\u001fb"}"#, #"{"app":"a","scopes":[]}"#,
        #"{"app":"a","scopes":["all"]}"#,
        #"{"app":"a","scopes":"chat"}"#, #"{"app":"a","expires_in":0}"#, #"{"app":"a","expires_in":1.5}"#,
        #"{"app":"a","limit":3}"#, #"{"app":"a","app":"b"}"#, #"{"app":"a","models":[7]}"#,
        #"{"app":"a","expires_in":"1"}"#, #"{"app":"\ud800"}"#, #"{"app":"a\u0000"}"#,
        #"{"app":"a","models":["\udfff"]}"#,
    ])
    func wrongPropertiesAreRefused(json: String) async throws {
        try await onStage(environment: withKeys) { stage in
            let refusal = try stage.call("POST", "/keys", json, as: testAdminToken)
            #expect(refusal.status == 422, "\(refusal.text)")
            #expect((try stage.call("GET", "/keys", as: testAdminToken).json["keys"] as? [Any])?.isEmpty == true)
        }
    }

    @Test(arguments: ["/keys?app=%00", "/keys?app=", "/usage?app=a%00", "/usage?key=%00", "/usage?app=a&after=AB8f"])
    func nameThatNothingHasIsRefusedInAQuery(path: String) async throws {
        try await onStage(environment: withKeys) { stage in
            let refusal = try stage.call("GET", path, as: testAdminToken)
            #expect(refusal.status == 422, "\(refusal.text)")
            #expect(refusal.json["code"] as? String == "invalid_request")
        }
    }

    @Test func scopesAndModelsLimitAKey() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let writer = try stage.makeKey("shop", adding: #","scopes":["chat"],"models":["tiny"]"#)
            let answer = try stage.call("POST", "/llmchat", prompt("one"), as: writer)
            Transcript(answer).check()
            let location = try #require(answer["Location"])
            #expect(try stage.call("GET", location, as: writer).status == 403)
            #expect(try stage.call("POST", "/tokens", "{}", as: writer).status == 403)
            #expect(try stage.call("GET", "/keys", as: writer).status == 403)
            let large = prompt("two").replacing("tiny", with: "large")
            #expect(try stage.call("POST", "/llmchat", large, as: writer).status == 403)
            #expect(try stage.call("POST", location + "/regenerate", #"{"model":"large"}"#, as: writer).status == 403)
            #expect(try stage.call("POST", "/llmprompt", #"{"model":"large","prompt":"x"}"#, as: writer).status == 403)
            let reader = try stage.makeKey("shop", adding: #","scopes":["read"]"#)
            #expect(try stage.call("GET", location, as: reader).status == 200)
            #expect(try stage.call("POST", "/llmchat", prompt("one"), as: reader).status == 403)
            #expect(try stage.call("DELETE", location, as: reader).status == 403)
            #expect(try stage.rows("shop").count == 2)
        }
    }

    @Test func replyAndConversationOfAnotherAppAreUnknown() async throws {
        let upstream = try ScriptedUpstream.answering(["secret"])
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let (shop, other) = (try stage.makeKey("shop"), try stage.makeKey("other"))
            let location = try #require(try stage.call("POST", "/llmchat", prompt("one"), as: shop)["Location"])
            for (method, path) in [
                ("GET", location), ("DELETE", location), ("POST", location + "/regenerate"),
                ("POST", location + "/choose"),
                ("GET", location + "?appID=other"),
            ] {
                let refusal = try stage.call(method, path, as: other)
                #expect(refusal.status == 404, "\(method) \(path)")
                #expect(!refusal.text.contains("secret"))
            }
            #expect(try stage.call("GET", location + "?appID=shop", as: other).status == 403)
            #expect(try stage.call("GET", location, as: other, fields: [("X-App-ID", "shop")]).status == 403)
            // The name is that of a conversation of the other app.
            #expect(try stage.call("DELETE", "/conversations/shop", as: other).status == 200)
            #expect(try stage.rows("shop").count == 2)
            #expect(try stage.call("GET", location, as: shop).status == 200)
        }
    }

    @Test func keyIsRotatedWithAnOverlap() async throws {
        try await onStage(environment: withKeys) { stage in
            let old = try stage.makeKey("shop", adding: #","label":"till""#)
            let made = try stage.call("POST", "/keys/\(Stage.id(of: old))/rotate", as: testAdminToken)
            #expect(made.status == 201 && made.json["label"] as? String == "till")
            let new = try #require(made.json["key"] as? String)
            #expect(try stage.call("GET", "/models", as: old).status == 200)
            #expect(try stage.call("GET", "/models", as: new).status == 200)
            #expect(try stage.call("POST", "/keys/0123456789abcdef/rotate", as: testAdminToken).status == 404)
            let list = try stage.call("GET", "/keys", as: testAdminToken).json["keys"] as? [[String: Any]]
            #expect(list?.first { $0["id"] as? String == Stage.id(of: old) }?["expires_at"] is Int)
        }
    }

    /// `open` mode serves requests without a credential, but a wrong key of this server is a mistake.
    @Test func openModeIgnoresForeignTokensAndRefusesWrongKeys() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: [.access: "open", .adminToken: testAdminToken]) {
            stage in
            let key = try stage.makeKey("shop")
            Transcript(try stage.call("POST", "/llmchat", chatBody("other", "x"), as: "none")).check()
            Transcript(try stage.call("POST", "/llmchat", chatBody("other", "x"), as: "a.b.c")).check()
            #expect(try stage.call("POST", "/llmchat", chatBody("other", "x"), as: key).status == 403)
            Transcript(try stage.call("POST", "/llmchat", prompt("x"), as: key)).check()
            let refusal = try stage.call("POST", "/llmchat", chatBody("other", "x"), as: Stage.changed(key))
            #expect(refusal.status == 401, "\(refusal.text)")
            #expect(try stage.call("POST", "/llmchat", prompt("x"), as: nil).status == 422)
        }
    }

    @Test func changesOfKeysAreAudited() async throws {
        try await onStage(environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            #expect(try stage.call("DELETE", "/keys/\(Stage.id(of: key))", as: testAdminToken).status == 200)
            let entries = try #require(
                try stage.call("GET", "/audit", as: testAdminToken).json["entries"] as? [[String: Any]])
            #expect(entries.map { $0["action"] as? String } == ["key_revoked", "key_created"])
            #expect(entries.allSatisfy { $0["actor"] as? String == "admin token" && $0["app"] as? String == "shop" })
            #expect(entries.allSatisfy { $0["subject"] as? String == Stage.id(of: key) })
            let first = try #require(entries.first?["id"] as? Int)
            let older = try stage.call("GET", "/audit?before=\(first)&limit=1", as: testAdminToken).json["entries"]
            #expect((older as? [[String: Any]])?.map { $0["action"] as? String } == ["key_created"])
        }
    }
}
