import ChatterdConfiguration
import ChatterdTestSupport
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// Limits of keys and client tokens over HTTP, and `GET /usage`.
@Suite(.timeLimit(.minutes(30))) struct PrincipalLimitTests {
    private func onLimitedStage(
        _ environment: [Setting: String] = withKeys, _ body: @escaping @Sendable (Stage) throws -> Void
    ) async throws {
        // The last line counts 18 tokens of the prompt and 13 of the answer.
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: environment, body)
    }

    @Test func requestOverALimitIsRefusedWithItsNumbers() async throws {
        try await onLimitedStage { stage in
            let key = try stage.makeKey("shop", adding: #","requests_per_minute":1,"tokens_per_day":100000"#)
            let first = try stage.call("POST", "/llmchat", prompt("12345678"), as: key)
            Transcript(first).check()
            #expect(first["X-RateLimit-Limit-Requests"] == "1" && first["X-RateLimit-Remaining-Requests"] == "0")
            #expect(first["X-RateLimit-Reset-Requests"] == "60s")
            #expect(first["X-RateLimit-Limit-Tokens"] == "100000")
            #expect(first["X-RateLimit-Remaining-Tokens"] == "\(100_000 - 3 - 1_024)")
            #expect(first["X-RateLimit-Reset-Tokens"]?.hasSuffix("s") == true)
            let second = try stage.call("POST", "/llmchat", prompt("two"), as: key)
            #expect(second.status == 429)
            #expect(second.json["code"] as? String == "rate_limited")
            #expect(second.json["limit"] as? String == "requests_per_minute")
            #expect(second.json["maximum"] as? Int == 1 && second.json["remaining"] as? Int == 0)
            #expect((second.json["error"] as? String)?.contains("1 requests per minute of this key") == true)
            let wait = try #require(second["Retry-After"].flatMap { Int($0) })
            #expect(1...60 ~= wait && second.json["reset"] as? Int == wait)
            #expect(second["X-RateLimit-Limit-Requests"] == "1" && second["X-RateLimit-Remaining-Requests"] == "0")
            // The first answer is settled.
            #expect(second["X-RateLimit-Limit-Tokens"] == "100000")
            #expect(try stage.rows("shop").count == 2)
        }
    }

    @Test func everyRequestForAnAnswerCounts() async throws {
        try await onLimitedStage { stage in
            let key = try stage.makeKey("shop", adding: #","tokens_per_day":3200"#)
            // Each of the paths leaves 31 of the 3,200 tokens used, and reserves more than 1,024 for its answer.
            let chat = try stage.call("POST", "/llmchat", prompt("one"), as: key)
            Transcript(chat).check()
            let location = try #require(chat["Location"])
            Transcript(try stage.call("POST", location + "/regenerate", as: key)).check()
            let passed = try stage.call("POST", "/llmprompt", #"{"model":"tiny","prompt":"x"}"#, as: key)
            #expect(passed.status == 200 && passed["X-RateLimit-Limit-Tokens"] == "3200")
            #expect(passed.text.contains(#""eval_count":13"#))
            // The charge of a passed-on request is settled after its response.
            try eventually("the charge is settled") { try Self.usage(stage, key)["answer_tokens"] == 39 }
            #expect(try Self.usage(stage, key) == ["requests": 3, "prompt_tokens": 54, "answer_tokens": 39])
            for (path, body) in [
                ("/llmchat", prompt("two", adding: #","options":{"num_predict":4000}"#)),
                ("/llmprompt", #"{"model":"tiny","prompt":"x","options":{"num_predict":4000}}"#),
            ] {
                let refusal = try stage.call("POST", path, body, as: key)
                #expect(refusal.status == 429, "\(path)")
                #expect(refusal.json["limit"] as? String == "tokens_per_day")
                #expect(refusal.json["remaining"] as? Int == 3_200 - 93)
            }
            try stage.cluster.query(
                """
                INSERT INTO chatterd_charges (reply, source, owner, day, prompt_tokens, answer_tokens, settled_at)
                VALUES (gen_random_uuid(), 'key \(Stage.id(of: key))', 'o', (now() AT TIME ZONE 'UTC')::date, 3000, 0, now())
                """, database: stage.database)
            #expect(try stage.call("POST", location + "/regenerate", as: key).status == 429)
            #expect(try stage.rows("shop").count == 3)
        }
    }

    @Test func appHasHalfOfTheConnections() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream { _ in
            [.streamHead, .wait(for: gate), .chunk(ModelLine.token("Hello")), .chunk(ModelLine.done()), .endChunks]
        }
        let environment = withKeys.merging([.maximumConnections: "8"]) { $1 }
        try await onStage(upstream: upstream.url, environment: environment) { stage in
            let (shop, other) = (try stage.makeKey("shop"), try stage.makeKey("other"))
            let open = try (0..<4).map { number in
                let client = try RawClient(port: stage.port)
                let body = prompt("one", adding: #","conversation":"c\#(number)""#)
                client.request(
                    "POST", "/llmchat", fields: [("Authorization", "Bearer \(shop)")], body: Array(body.utf8))
                #expect(try client.readHead().status == 200)
                return client
            }
            let refused = try stage.call("GET", "/conversations", as: shop)
            #expect(refused.status == 503 && refused.json["code"] as? String == "overloaded", "\(refused.text)")
            #expect(try stage.call("GET", "/conversations", as: other).status == 200)
            // What ends a request needs none of the share.
            #expect(try stage.call("DELETE", "/conversations/none", as: shop).status == 200)
            gate.open()
            for client in open {
                #expect(client.readEvents().contains { $0.data?.contains("Hello") == true })
            }
            try eventually(
                "the share is free", isTrue: { try stage.call("GET", "/conversations", as: shop).status == 200 })
        }
    }

    /// The requests and tokens of today.
    private static func usage(_ stage: Stage, _ key: String) throws -> [String: Int] {
        let today = try stage.call("GET", "/usage", as: key).json["today"] as? [String: Any]
        return ["requests", "prompt_tokens", "answer_tokens"].reduce(into: [:]) { $0[$1] = today?[$1] as? Int }
    }

    @Test func endOfAReplyFreesItsPlace() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream.answering("Hello", then: " world", behind: gate)
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop", adding: #","concurrent_replies":1"#)
            let client = try RawClient(port: stage.port)
            defer { client.close() }
            client.request(
                "POST", "/llmchat", fields: [("Authorization", "Bearer \(key)")], body: Array(prompt("one").utf8))
            #expect(try client.readHead().status == 200)
            #expect(try client.nextDataEvent().text == "Hello")
            let refusal = try stage.call("POST", "/llmchat", prompt("two"), as: key)
            #expect(refusal.status == 429 && refusal.json["limit"] as? String == "concurrent_replies")
            #expect(refusal["Retry-After"] == "1")
            gate.open()
            // The end is stored before the last event is sent.
            _ = client.readBody()
            Transcript(try stage.call("POST", "/llmchat", prompt("two"), as: key)).check()
        }
    }

    @Test func tokenHasItsOwnLimitsBelowThoseOfItsKey() async throws {
        try await onLimitedStage { stage in
            let key = try stage.makeKey("shop", adding: #","requests_per_minute":3"#)
            let ada = try stage.makeToken(key, person: "ada", adding: #","requests_per_minute":1"#)
            let bob = try stage.makeToken(key, person: "bob")
            Transcript(try stage.call("POST", "/llmchat", prompt("one"), as: ada)).check()
            let own = try stage.call("POST", "/llmchat", prompt("two"), as: ada)
            #expect(own.status == 429 && own.json["maximum"] as? Int == 1)
            #expect((own.json["error"] as? String)?.contains("of this token") == true)
            let answer = try stage.call("POST", "/llmchat", prompt("one"), as: bob)
            Transcript(answer).check()
            #expect(answer["X-RateLimit-Limit-Requests"] == "3" && answer["X-RateLimit-Remaining-Requests"] == "1")
            Transcript(try stage.call("POST", "/llmchat", prompt("one"), as: key)).check()
            let last = try stage.call("POST", "/llmchat", prompt("two"), as: bob)
            #expect(last.status == 429 && last.json["maximum"] as? Int == 3)
        }
    }

    @Test func copiesOfAConversationCount() async throws {
        try await onLimitedStage { stage in
            let key = try stage.makeKey("shop", adding: #","requests_per_minute":3,"tokens_per_day":100000"#)
            Transcript(try stage.call("POST", "/llmchat", prompt("one"), as: key)).check()
            let file = try stage.call("GET", "/conversations/shop/export", as: key)
            #expect(try stage.call("POST", "/conversations/shop/fork", #"{"conversation":"a"}"#, as: key).status == 201)
            #expect(try stage.call("POST", "/conversations/b/import", file.text, as: key).status == 201)
            for (path, body) in [("shop/fork", #"{"conversation":"c"}"#), ("d/import", file.text)] {
                let refusal = try stage.call("POST", "/conversations/\(path)", body, as: key)
                #expect(refusal.status == 429 && refusal.json["limit"] as? String == "requests_per_minute", "\(path)")
            }
            let names = try stage.cluster.query(
                "SELECT appid FROM chatterd_conversations ORDER BY appid", database: stage.database)
            #expect(names.count == 3)
            // A copy uses no tokens.
            #expect(try Self.usage(stage, key) == ["requests": 3, "prompt_tokens": 18, "answer_tokens": 13])
        }
    }

    @Test func repeatedPromptCountsOnceAndIsNotRefused() async throws {
        try await onLimitedStage { stage in
            let key = try stage.makeKey("shop", adding: #","requests_per_minute":1"#)
            let fields = [("Idempotency-Key", "k")]
            let first = try stage.call("POST", "/llmchat", prompt("one"), as: key, fields: fields)
            let again = try stage.call("POST", "/llmchat", prompt("one"), as: key, fields: fields)
            Transcript(again).check()
            #expect(again["Location"] == first["Location"])
        }
    }

    @Test func principalsWithoutLimitsHaveNoFieldsAndAreCounted() async throws {
        try await onLimitedStage([.access: "open", .adminToken: testAdminToken]) { stage in
            let key = try stage.makeKey("shop")
            for credential in [key, nil] {
                let body = credential == nil ? chatBody("other", "x") : prompt("x")
                let answer = try stage.call("POST", "/llmchat", body, as: credential)
                Transcript(answer).check()
                #expect(answer["X-RateLimit-Limit-Requests"] == nil && answer["X-RateLimit-Limit-Tokens"] == nil)
            }
            #expect(try Self.usage(stage, key) == ["requests": 1, "prompt_tokens": 18, "answer_tokens": 13])
            let all = try stage.cluster.query(
                """
                SELECT (SELECT count(*) FROM chatterd_charges)
                    + (SELECT coalesce(sum(requests), 0) FROM chatterd_usage WHERE owner = '')
                """, database: stage.database)
            #expect(all == [["1"]])
        }
    }

    @Test func usageIsThatOfTheCredential() async throws {
        try await onLimitedStage { stage in
            let (key, other) = (
                try stage.makeKey("shop", adding: #","tokens_per_day":90000"#), try stage.makeKey("other")
            )
            let ada = try stage.makeToken(key, person: "ada")
            Transcript(try stage.call("POST", "/llmchat", prompt("one"), as: key)).check()
            Transcript(try stage.call("POST", "/llmchat", prompt("one"), as: ada)).check()
            let report = try stage.call("GET", "/usage?days=2", as: key).json
            #expect(report["key"] as? String == Stage.id(of: key) && report["app"] as? String == "shop")
            #expect((report["limits"] as? [String: Int]) == ["tokens_per_day": 90_000])
            #expect((report["today"] as? [String: Any])?["requests"] as? Int == 2)
            let people = try #require(report["people"] as? [[String: Any]])
            #expect(people.map { $0["person"] as? String } == [nil, "ada"])
            #expect(people.map { $0["prompt_tokens"] as? Int } == [18, 18])
            let own = try stage.call("GET", "/usage", as: ada).json
            #expect(own["person"] as? String == "ada" && own["people"] == nil && own["key"] == nil)
            #expect((own["today"] as? [String: Any])?["requests"] as? Int == 1)
            #expect((try stage.call("GET", "/usage", as: other).json["people"] as? [Any])?.isEmpty == true)
            for query in ["?key=\(Stage.id(of: key))", "?app=shop"] {
                #expect(try stage.call("GET", "/usage" + query, as: other).status == 403)
                let seen = try stage.call("GET", "/usage" + query, as: testAdminToken)
                #expect(seen.status == 200)
                #expect((seen.json["today"] as? [String: Any])?["requests"] as? Int == 2)
            }
            #expect(try stage.call("GET", "/usage", as: testAdminToken).status == 422)
            #expect(try stage.call("GET", "/usage", as: nil).status == 401)
            for query in ["?days=0", "?days=93", "?limit=1001", "?after=x"] {
                #expect(try stage.call("GET", "/usage" + query, as: key).status == 422, "\(query)")
            }
        }
    }

    @Test func peopleArePaged() async throws {
        try await onLimitedStage { stage in
            let key = try stage.makeKey("shop")
            for person in ["ada", "bob", "eve"] {
                let token = try stage.makeToken(key, person: person)
                Transcript(try stage.call("POST", "/llmchat", prompt("one"), as: token)).check()
            }
            var people: [String?] = []
            var next = ""
            repeat {
                let page = try stage.call("GET", "/usage?limit=2\(next.isEmpty ? "" : "&after=\(next)")", as: key).json
                people += (page["people"] as? [[String: Any]])?.map { $0["person"] as? String } ?? []
                next = page["next"] as? String ?? ""
            } while !next.isEmpty && people.count < 10
            #expect(people == ["ada", "bob", "eve"])
        }
    }

    @Test func limitsOfAKeyAreListedAndKeptByItsRotation() async throws {
        try await onLimitedStage { stage in
            let key = try stage.makeKey("shop", adding: #","requests_per_minute":5,"concurrent_replies":2"#)
            let made = try stage.call("POST", "/keys/\(Stage.id(of: key))/rotate", as: testAdminToken)
            #expect(made.json["requests_per_minute"] as? Int == 5 && made.json["concurrent_replies"] as? Int == 2)
            #expect(made.json["tokens_per_day"] == nil)
            for limit in ["-1", "1.5", "\"5\"", "1000000000001"] {
                let body = #"{"app":"shop","tokens_per_day":\#(limit)}"#
                #expect(try stage.call("POST", "/keys", body, as: testAdminToken).status == 422, "\(limit)")
                let token = #"{"person":"ada","tokens_per_day":\#(limit)}"#
                #expect(try stage.call("POST", "/tokens", token, as: key).status == 422, "\(limit)")
            }
        }
    }
}
