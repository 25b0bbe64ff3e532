import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServerTestSupport

/// `/conversations`, and `PATCH /conversations/:c`.
@Suite(.timeLimit(.minutes(30))) struct CatalogueRouteTests {
    private func names(_ answer: HTTPExchange) -> [String] {
        (answer.json["conversations"] as? [[String: Any]] ?? []).map { $0["conversation"] as? String ?? "?" }
    }

    private func post(_ stage: Stage, _ body: String, app: String = "app") throws -> HTTPExchange {
        try RawClient.post(port: stage.port, "/conversations?appID=\(app)", json: body)
    }

    private func patch(_ stage: Stage, _ path: String, _ body: String) throws -> HTTPExchange {
        let client = try RawClient(port: stage.port)
        client.request("PATCH", path, fields: [("Content-Type", "application/json")], body: Array(body.utf8))
        return try client.readResponse()
    }

    @Test func conversationsOfAnAppAreListed() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            #expect(try stage.send("GET", "/conversations?appID=app").text == "{\"conversations\":[]}\n")
            let long = "What shall we do in Rome on a day of rain when all the museums are closed and the cafés full?"
            Transcript(try stage.chat("app", long)).check()
            Transcript(try stage.ask("app", "Hi", adding: ",\"conversation\":\"trip\"")).check()
            Transcript(try stage.chat("other", "x")).check()
            let list = try stage.send("GET", "/conversations", fields: [("X-App-ID", "app")])
            #expect(
                list.status == 200 && list["Cache-Control"] == "no-store" && list["Content-Type"] == "application/json")
            #expect(names(list) == ["trip", "app"] && list.json["next"] == nil)
            let entries = list.json["conversations"] as? [[String: Any]] ?? []
            #expect(entries.map { $0["title"] as? String } == ["Hi", String(long.prefix(77))])
            for entry in entries {
                #expect(entry["archived"] as? Bool == false && entry["running"] as? Bool == false)
                for time in ["created_at", "updated_at"] {
                    let text = entry[time] as? String ?? ""
                    #expect(text.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/) != nil, "\(text)")
                }
            }
            let first = try stage.send("GET", "/conversations?appID=app&limit=1")
            let next = try #require(first.json["next"] as? String)
            let second = try stage.send("GET", "/conversations?appID=app&limit=1&cursor=\(next)")
            #expect(names(first) == ["trip"] && names(second) == ["app"] && second.json["next"] == nil)
            let head = try stage.send("HEAD", "/conversations?appID=app")
            #expect(head.status == 200 && head.body.isEmpty)
        }
    }

    @Test func runningReplyIsShown() async throws {
        let upstream = try ScriptedUpstream.stalling(after: "a")
        try await onStage(upstream: upstream.url) { stage in
            let client = try stage.beginChat("app", "x")
            _ = try client.nextDataEvent()
            let entries = try stage.send("GET", "/conversations?appID=app").json["conversations"] as? [[String: Any]]
            #expect(entries?.first?["running"] as? Bool == true)
        }
    }

    @Test(arguments: [
        "", "?appID=", "?appID=a%1Fb", "?appID=app&limit=0", "?appID=app&limit=201", "?appID=app&limit=x",
        "?appID=app&archived=2",
        "?appID=app&cursor=x", "?appID=app&q=", "?appID=app&q=a%00b", "?appID=app&cursor=1.0.",
        "?appID=app&q=" + String(repeating: "a", count: 201),
    ])
    func invalidQueryIsRefused(query: String) async throws {
        try await onStage { stage in
            let answer = try stage.send("GET", "/conversations" + query)
            #expect(answer.status == 422 && answer.json["code"] as? String == "invalid_request", "\(answer.text)")
        }
    }

    @Test func requestWithoutAnAppSaysWhereToNameIt() async throws {
        try await onStage { stage in
            let answers = [
                try stage.send("GET", "/conversations"), try stage.send("DELETE", "/conversations"),
                try RawClient.post(port: stage.port, "/conversations", json: "{}"),
            ]
            for answer in answers {
                #expect(answer.status == 422 && answer.text.contains("X-App-ID"))
            }
        }
    }

    @Test func conversationIsCreatedWithItsMessages() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            let body = """
                {"conversation":"a/b é%","title":"Rome","messages":[{"role":"system","content":"be brief"}]}
                """
            let created = try post(stage, body)
            #expect(created.status == 201 && created["Location"] == "/conversations/a%2Fb%20%C3%A9%25")
            #expect(created.json["conversation"] as? String == "a/b é%" && created.json["title"] as? String == "Rome")
            let again = try post(stage, body)
            #expect(again.status == 409 && again.json["code"] as? String == "conversation_exists")
            // The name is free in another app.
            #expect(try post(stage, body, app: "app2").status == 201)
            Transcript(try stage.ask("app", "Hi", adding: ",\"conversation\":\"a/b é%\"")).check()
            #expect(upstream.requests.last?.messages == [["system", "be brief"], ["user", "Hi"]])
            #expect(try stage.send("DELETE", try #require(created["Location"]) + "?appID=app").status == 200)
            #expect(names(try stage.send("GET", "/conversations?appID=app")).isEmpty)
            #expect(names(try stage.send("GET", "/conversations?appID=app2")) == ["a/b é%"])
        }
    }

    @Test func conversationWithoutANameGetsOne() async throws {
        try await onStage { stage in
            let made = try (0..<5).map { _ in try post(stage, "{}") }
            let names = made.map { $0.json["conversation"] as? String ?? "" }
            #expect(made.allSatisfy { $0.status == 201 } && Set(names).count == 5)
            #expect(names.allSatisfy { $0.wholeMatch(of: /[a-z0-9]{12}/) != nil }, "\(names)")
            #expect(made.map { $0["Location"] } == names.map { "/conversations/" + $0 })
            #expect(made.allSatisfy { $0.json["title"] == nil })
        }
    }

    @Test(arguments: [
        "[]", "{", "{\"conversation\":\"\"}", "{\"conversation\":\"a\\u001fb\"}", "{\"conversation\":7}",
        "{\"title\":\"\"}", "{\"title\":\"a\\nb\"}", "{\"messages\":[]}", "{\"messages\":[{\"role\":\"user\"}]}",
        "{\"titel\":\"x\"}", "{\"appID\":\"app\"}",
    ])
    func invalidCreationIsRefused(body: String) async throws {
        try await onStage { stage in
            let answer = try post(stage, body)
            #expect(answer.status == 422 && answer.json["code"] as? String == "invalid_request")
            if body.contains("titel") {
                #expect(answer.text.contains("Did you mean title?"))
            }
            #expect(names(try stage.send("GET", "/conversations?appID=app")).isEmpty)
        }
    }

    @Test func conversationIsRenamedAndArchived() async throws {
        try await onStage { stage in
            #expect(try post(stage, "{\"conversation\":\"trip\"}").status == 201)
            let renamed = try patch(stage, "/conversations/trip?appID=app", "{\"title\":\"Rome\",\"archived\":true}")
            #expect(renamed.status == 200 && renamed.json["title"] as? String == "Rome")
            #expect(renamed.json["archived"] as? Bool == true)
            #expect(names(try stage.send("GET", "/conversations?appID=app")).isEmpty)
            #expect(names(try stage.send("GET", "/conversations?appID=app&archived=1")) == ["trip"])
            #expect(names(try stage.send("GET", "/conversations?appID=app&archived=all")) == ["trip"])
            for path in ["/conversations/trip?appID=app2", "/conversations/none?appID=app", "/conversations/trip"] {
                let answer = try patch(stage, path, "{\"title\":\"x\"}")
                #expect(answer.status == 404 && answer.json["code"] as? String == "conversation_not_found", "\(path)")
            }
            for body in ["{}", "{\"title\":7}", "{\"archived\":\"yes\"}", "{\"archive\":true}"] {
                #expect(try patch(stage, "/conversations/trip?appID=app", body).status == 422, "\(body)")
            }
        }
    }

    @Test func messagesAreSearched() async throws {
        let upstream = try ScriptedUpstream.answering(["The Colosseum."])
        try await onStage(upstream: upstream.url) { stage in
            Transcript(try stage.chat("app", "What is in Rome?")).check()
            Transcript(try stage.chat("other", "What is in Rome?")).check()
            let found = try stage.send("GET", "/conversations?appID=app&q=colosseum")
            let hits = found.json["conversations"] as? [[String: Any]] ?? []
            let matches = hits.first?["matches"] as? [[String: Any]] ?? []
            #expect(hits.count == 1 && matches.count == 1 && found.json["next"] == nil)
            #expect(matches.first?["seq"] as? Int == 2 && matches.first?["role"] as? String == "assistant")
            #expect(matches.first?["excerpt"] as? String == "The Colosseum.")
            #expect(names(try stage.send("GET", "/conversations?appID=app&q=50%25")).isEmpty)
        }
    }

    @Test(arguments: [
        ("/conversations/?appID=app", 404), ("/conversations/?appID=app&all=1", 404), ("/conversations/", 404),
        ("/conversations?appID=app", 422), ("/conversations?appID=app&all=", 422),
        ("/conversations?appID=app&all=true", 422),
    ]) func trailingSlashOrMissingMarkDoesNotDeleteEverything(path: String, status: Int) async throws {
        try await onStage { stage in
            #expect(try post(stage, "{\"conversation\":\"trip\"}").status == 201)
            let answer = try stage.send("DELETE", path, fields: [("X-App-ID", "app")])
            #expect(answer.status == status, "\(answer.text)")
            #expect(answer.text.contains(status == 404 ? "ends with a slash" : "?all=1"))
            #expect(names(try stage.send("GET", "/conversations?appID=app")) == ["trip"])
        }
    }

    @Test func allConversationsOfAnAppAreDeleted() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            for app in ["app", "app2", "ap"] {
                Transcript(try stage.chat(app, "x")).check()
                Transcript(try stage.ask(app, "x", adding: ",\"conversation\":\"trip\"")).check()
            }
            let deleted = try stage.send("DELETE", "/conversations?appID=app&all=1")
            #expect(deleted.status == 200 && deleted.text == "{\"deleted\":2}\n")
            #expect(try stage.send("DELETE", "/conversations?appID=app&all=1").text == "{\"deleted\":0}\n")
            for table in ["chatts", "chatterd_conversations"] {
                #expect(
                    try stage.cluster.query("SELECT DISTINCT appid FROM \(table)", database: stage.database).count == 4)
            }
            #expect(try stage.rows("app").isEmpty && stage.rows("app\u{1F}\u{1F}trip").isEmpty)
        }
    }
}
