import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// Several conversations of one app.
@Suite(.timeLimit(.minutes(30))) struct NamedConversationTests {
    private func body(_ conversation: String?, _ prompt: String, role: String = "user") -> String {
        let name = conversation.map { ",\"conversation\":\(jsonString($0))" } ?? ""
        return String(chatBody("app", prompt, role: role).dropLast()) + name + "}"
    }

    private func chat(_ stage: Stage, _ conversation: String?, _ prompt: String) throws -> HTTPExchange {
        try RawClient.post(port: stage.port, "/llmchat", json: body(conversation, prompt))
    }

    @Test func conversationsOfAnAppHaveSeparateHistories() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            let names: [String?] = [nil, "trip", "Trip", "trip ", "app2", "%", "é\u{1f600}"]
            for name in names {
                Transcript(try chat(stage, name, "secret of \(name ?? "the app")")).check()
                #expect(upstream.requests.last?.messages == [["user", "secret of \(name ?? "the app")"]])
            }
            Transcript(try chat(stage, "trip", "more")).check()
            #expect(
                upstream.requests.last?.messages == [
                    ["user", "secret of trip"], ["assistant", "ok"], ["user", "more"],
                ])
            // The model server does not get the name.
            #expect(upstream.requests.allSatisfy { $0.json["conversation"] == nil })
        }
    }

    @Test(arguments: [".", ".."]) func nameOfDotsIsRefused(name: String) async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            Transcript(try chat(stage, "trip", "x")).check()
            let door = #"{"model":"tiny","stream":false,"messages":[{"role":"user","content":"x"}]}"#
            let response = "{\"model\":\"tiny\",\"input\":\"x\",\"conversation\":\"\(name)\"}"
            let refused = [
                try chat(stage, name, "x"),
                try RawClient.post(port: stage.port, "/llmprep", json: body(name, "x", role: "system")),
                try RawClient.post(port: stage.port, "/llmchat", json: chatBody(name, "x")),
                try RawClient.post(
                    port: stage.port, "/conversations?appID=app", json: "{\"conversation\":\"\(name)\"}"),
                try RawClient.post(
                    port: stage.port, "/conversations/trip/fork?appID=app", json: "{\"conversation\":\"\(name)\"}"),
                try RawClient.post(port: stage.port, "/conversations/%C2%80\(name)/import?appID=app", json: "{}"),
                try RawClient.post(
                    port: stage.port, "/v1/chat/completions", json: door,
                    fields: [("X-App-ID", "app"), ("X-Conversation-ID", name)]),
                try RawClient.post(
                    port: stage.port, "/v1/responses", json: response, fields: [("X-App-ID", "app")]),
            ]
            for (index, answer) in refused.enumerated() {
                #expect((400...422).contains(answer.status), "\(index): \(answer.text)")
                #expect(answer.text.contains("must not have the name \(name), because"), "\(index): \(answer.text)")
            }
            let stored = try stage.cluster.query("SELECT DISTINCT appid FROM chatts", database: stage.database)
            #expect(stored == [["app\u{1F}\u{1F}trip"]])
        }
    }

    /// A version before could make it.
    @Test(arguments: [".", ".."]) func storedConversationWithANameOfDotsIsReadAndDeleted(name: String) async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            Transcript(try chat(stage, "trip", "x")).check()
            for table in ["chatts", "chatterd_conversations"] {
                try stage.cluster.query(
                    "UPDATE \(table) SET appid = E'app\\x1f\\x1f\(name)' WHERE appid = E'app\\x1f\\x1ftrip'",
                    database: stage.database)
            }
            let path = "/conversations/%C2%80\(name)"
            let page = try stage.send("GET", path + "?appID=app")
            #expect(page.status == 200 && page.json["conversation"] as? String == name, "\(page.text)")
            #expect(try stage.send("GET", path + "/export?appID=app").text.contains("\"content\":\"ok\""))
            let copy = try RawClient.post(
                port: stage.port, path + "/fork?appID=app", json: "{\"conversation\":\"trip\"}")
            #expect(copy.status == 201, "\(copy.text)")
            #expect(try stage.send("DELETE", path + "?appID=app").status == 200)
            #expect(try stage.rows("app\u{1F}\u{1F}\(name)").isEmpty)
            #expect(try stage.rows("app\u{1F}\u{1F}trip").count == 2)
        }
    }

    @Test func defaultConversationIsNamedLikeItsApp() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            Transcript(try chat(stage, nil, "one")).check()
            Transcript(try chat(stage, "app", "two")).check()
            #expect(try stage.rows("app").map(\.role) == ["user", "assistant", "user", "assistant"])
        }
    }

    /// Only a prompt of the same conversation waits for the first one.
    @Test func conversationsOfAnAppDoNotWaitForEachOther() async throws {
        let upstream = try ScriptedUpstream([.streamHead, .stall], .answer(["second"]))
        try await onStage(upstream: upstream.url) { stage in
            let client = try RawClient(port: stage.port)
            client.post("/llmchat", json: body("one", "a"))
            _ = try client.readHead()
            try upstream.waitForRequests(1)
            Transcript(try chat(stage, "two", "b")).check()
            #expect(upstream.requests.map { $0.messages } == [[["user", "a"]], [["user", "b"]]])
        }
    }

    @Test func prepReplacesOneConversation() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            Transcript(try chat(stage, nil, "kept")).check()
            Transcript(try chat(stage, "trip", "old")).check()
            let seeded = try RawClient.post(
                port: stage.port, "/llmprep", json: body("trip", "be brief", role: "system"))
            #expect(seeded.status == 200)
            Transcript(try chat(stage, "trip", "new")).check()
            #expect(upstream.requests.last?.messages == [["system", "be brief"], ["user", "new"]])
            #expect(try stage.rows("app").map(\.role) == ["user", "assistant"])
        }
    }

    @Test func conversationOfAnAppIsDeletedAlone() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            for name in [nil, "trip", "work"] {
                Transcript(try chat(stage, name, "x")).check()
            }
            #expect(try stage.send("DELETE", "/conversations/trip?appID=app").status == 200)
            #expect(try stage.rows("app\u{1F}\u{1F}trip").isEmpty)
            #expect(try stage.send("DELETE", "/conversations/work", fields: [("X-App-ID", "app")]).status == 200)
            #expect(try stage.rows("app\u{1F}\u{1F}work").isEmpty)
            #expect(try stage.rows("app").count == 2)
            // The default conversation has the name of the app.
            #expect(try stage.send("DELETE", "/conversations/app?appID=app").status == 200)
            #expect(try stage.rows("app").isEmpty)
        }
    }

    @Test(arguments: [
        "/conversations/app%1F%1Ftrip", "/conversations/trip?appID=a%1Fb", "/conversations/trip?appID=",
    ])
    func keyOfTheStoreIsNoName(path: String) async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            Transcript(try chat(stage, "trip", "x")).check()
            // The HTTP layer refuses the separator in a path itself.
            let status = try stage.send("DELETE", path).status
            #expect(status == (path.hasPrefix("/conversations/app%1F") ? 400 : 422))
            #expect(try stage.rows("app\u{1F}\u{1F}trip").count == 2)
        }
    }

    @Test func replyOfANamedConversationBelongsToItsApp() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            let answer = try chat(stage, "trip", "x")
            Transcript(answer).check()
            let location = try #require(answer["Location"])
            #expect(try stage.read(location + "?appID=app").status == 200)
            #expect(try stage.read(location + "?appID=trip").status == 404)
        }
    }

    @Test func keysOfRequestsBelongToTheirConversation() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            for name in ["one", "two"] {
                for _ in 0..<2 {
                    let client = try RawClient(port: stage.port)
                    client.post("/llmchat", json: body(name, "x"), fields: [("Idempotency-Key", "k")])
                    #expect(try client.readHead().status == 200)
                    _ = client.readBody()
                }
            }
            #expect(upstream.requests.count == 2)
        }
    }
}
