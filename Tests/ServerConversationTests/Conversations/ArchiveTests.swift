import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// One conversation over HTTP: its pages, copies, exports and imports.
@Suite(.timeLimit(.minutes(30))) struct ArchiveTests {
    /// Numbers its answers, and thinks before them.
    private func counting() throws -> ScriptedUpstream {
        try ScriptedUpstream { request in
            [
                .streamHead, .chunk(ModelLine.thinking("hm")), .chunk(ModelLine.token("a\(request.number + 1)")),
                .chunk(ModelLine.toolCalls([("f", "{\"x\":1}")]).joined()), .endChunks,
            ]
        }
    }

    /// A conversation of the app with a seeded message with an image, two branches and a choice.
    private func fill(_ stage: Stage) throws {
        let image = #"{"role":"user","content":"Look.","images":["aGk="]}"#
        let seed = #"{"appID":"app","messages":[{"role":"system","content":"Be \"brief\"."},\#(image)]}"#
        #expect(try RawClient.post(port: stage.port, "/llmprep", json: seed).status == 200)
        let first = try #require(try stage.ask("app", "one", adding: ",\"options\":{\"seed\":7}")["Location"])
        Transcript(try stage.chat("app", "two")).check()
        Transcript(try stage.ask("app", "2nd", adding: ",\"parent\":\"\(first.dropFirst(9))\"")).check()
        Transcript(try RawClient.post(port: stage.port, first + "/regenerate", json: "")).check()
        #expect(try stage.send("POST", first + "/choose").status == 200)
    }

    private func page(_ stage: Stage, _ path: String) throws -> [String: Any] {
        let answer = try stage.send("GET", path)
        #expect(answer.status == 200 && answer["Content-Type"] == "application/json")
        return answer.json
    }

    private func messages(_ page: [String: Any]) -> [[String: Any]] { page["messages"] as? [[String: Any]] ?? [] }

    private func post(
        _ stage: Stage, _ path: String, _ body: [UInt8], type: String = "application/x-ndjson"
    ) throws -> HTTPExchange {
        let client = try RawClient(port: stage.port)
        defer { client.close() }
        client.request("POST", path, fields: [("Content-Type", type)], body: body)
        return try client.readResponse()
    }

    @Test func pageHasMessagesRepliesAndBranches() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            try fill(stage)
            let page = try page(stage, "/conversations/app?appID=app")
            let messages = messages(page)
            #expect(page["conversation"] as? String == "app")
            #expect(
                messages.map { $0["role"] as? String } == [
                    "system", "user", "user", "assistant", "user", "assistant", "user", "assistant", "assistant",
                ])
            #expect(
                messages.map { $0["content"] as? String } == [
                    "Be \"brief\".", "Look.", "one", "a1", "two", "a2", "2nd", "a3", "a4",
                ])
            #expect(
                messages.map { $0["active"] as? Bool } == [true, true, true, true, false, false, false, false, false])
            #expect(messages[1]["images"] as? [String] == ["aGk="])
            #expect(messages[3]["thinking"] as? String == "hm" && (messages[3]["tool_calls"] as? [Any])?.count == 1)
            #expect(messages[3]["model"] as? String == "tiny" && messages[3]["state"] as? String == "complete")
            #expect(messages[3]["done_reason"] as? String == "stop")
            #expect(messages[6]["parent"] as? String == messages[3]["id"] as? String)
            #expect(messages[8]["after"] as? Int == messages[2]["seq"] as? Int)
            #expect(try stage.send("HEAD", "/conversations/app?appID=app").status == 200)
            // A client reads a reply by its id.
            let id = try #require(messages[3]["id"] as? String)
            #expect(try stage.describe("/replies/\(id)?appID=app").json["state"] as? String == "complete")
        }
    }

    @Test func queryOfAPageIsChecked() async throws {
        try await onStage { stage in
            try stage.cluster.query(
                "INSERT INTO chatts (appid, seq, name, message) VALUES ('app', 1, 'user', 'x')",
                database: stage.database)
            for query in [
                "limit=0", "limit=201", "limit=x", "before=-1", "after=1.5", "before=1&after=1",
                "limit=99999999999999999999",
            ] {
                #expect(try stage.send("GET", "/conversations/app?\(query)").status == 422, "\(query)")
            }
            #expect(messages(try page(stage, "/conversations/app?limit=200&before=2")).count == 1)
            #expect(messages(try page(stage, "/conversations/app?after=1")).isEmpty)
        }
    }

    @Test func runningAndFailedRepliesShowTheirState() async throws {
        let upstream = try ScriptedUpstream(
            .error(500, "out of memory"), [.streamHead, .chunk(ModelLine.token("Hello")), .stall])
        try await onStage(upstream: upstream.url) { stage in
            Transcript(try stage.chat("app", "one")).check()
            let (client, location) = try stage.begin("app", "two")
            _ = try client.nextDataEvent()
            let replies = messages(try page(stage, "/conversations/app")).filter { $0["id"] != nil }
            #expect(replies.map { $0["state"] as? String } == ["failed", "streaming"])
            #expect((replies[0]["error"] as? String)?.contains("out of memory") == true)
            #expect(replies[0]["code"] as? String == "upstream_error")
            #expect(replies[1]["content"] as? String == "" && location.hasSuffix(replies[1]["id"] as? String ?? "-"))
            // An export has it as an interrupted reply, and imports.
            let export = try stage.send("GET", "/conversations/app/export")
            #expect(export.status == 200 && !export.text.contains("Hello"))
            #expect(export.text.contains("\"state\":\"interrupted\""))
            #expect(try post(stage, "/conversations/copy/import", export.body).status == 201)
            #expect(try stage.send("DELETE", location).status == 200)
        }
    }

    @Test func branchesSurviveAnExport() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            try fill(stage)
            let export = try stage.send("GET", "/conversations/app/export?appID=app")
            #expect(export.status == 200 && export["Content-Type"] == "application/x-ndjson" && export.end == .complete)
            #expect(export.text.hasPrefix("{\"chatterd\":\"conversation\",\"version\":1,\"conversation\":\"app\""))
            #expect(export.text.hasSuffix("{\"end\":true,\"rows\":10}\n"))
            #expect(try stage.send("HEAD", "/conversations/app/export").status == 200)
            let imported = try post(stage, "/conversations/to%20keep/import?appID=app", export.body)
            #expect(imported.status == 201 && imported["Location"] == "/conversations/to%20keep?appID=app")
            #expect(imported.json["rows"] as? Int == 10 && imported.json["complete"] as? Bool == true)
            let again = try stage.send("GET", try #require(imported["Location"]).replacing("?", with: "/export?"))
            let strip = { (text: String) in
                text.replacing(/"conversation":"[^"]*"/, with: "").replacing(/"id":"[-0-9a-f]{36}"/, with: "")
            }
            #expect(strip(again.text) == strip(export.text))
            #expect(
                try post(stage, "/conversations/to%20keep/import?appID=app", export.body).json["code"] as? String
                    == "conversation_exists")
            // The model gets the same messages as before.
            Transcript(try stage.chat("app", "next")).check()
            Transcript(try stage.ask("app", "next", adding: ",\"conversation\":\"to keep\"")).check()
            let last = upstream.requests.suffix(2).map { String(decoding: $0.body, as: UTF8.self) }
            #expect(last[0] == last[1] && last[0].contains("aGk="))
            #expect(upstream.requests.last?.messages.count == 5)
            // An imported reply is regenerated with its options.
            let page = try page(stage, "/conversations/to%20keep?appID=app")
            let id = try #require(messages(page).compactMap { $0["id"] as? String }.first)
            Transcript(try RawClient.post(port: stage.port, "/replies/\(id)/regenerate", json: "")).check()
            #expect(upstream.requests.last?.json["options"] as? [String: Int] == ["seed": 7])
        }
    }

    @Test func forkHasTheBranchOfItsReply() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            try fill(stage)
            let ids = messages(try page(stage, "/conversations/app?appID=app")).compactMap { $0["id"] as? String }
            let fork = { (body: String) throws in
                try RawClient.post(port: stage.port, "/conversations/app/fork?appID=app", json: body)
            }
            let second = try fork("{\"reply\":\"\(ids[1])\",\"conversation\":\"second\",\"title\":\"Two\"}")
            #expect(second.status == 201 && second["Location"] == "/conversations/second?appID=app")
            #expect(try fork("{\"conversation\":\"second\"}").json["code"] as? String == "conversation_exists")
            let copy = try page(stage, "/conversations/second?appID=app")
            #expect(copy["title"] as? String == "Two")
            #expect(
                messages(copy).map { $0["content"] as? String } == ["Be \"brief\".", "Look.", "one", "a1", "two", "a2"])
            // Without a body: the branch of the next prompt, and a name of the server.
            let end = try #require(try fork("")["Location"])
            let same = messages(try page(stage, end))
            #expect(same.map { $0["content"] as? String } == ["Be \"brief\".", "Look.", "one", "a1"])
            #expect(same[1]["images"] as? [String] == ["aGk="] && (same[3]["tool_calls"] as? [Any])?.count == 1)
            Transcript(try stage.chat("app", "next")).check()
            let name = try #require(end.split(separator: "/").last?.split(separator: "?").first)
            Transcript(try stage.ask("app", "next", adding: ",\"conversation\":\"\(name)\"")).check()
            let last = upstream.requests.suffix(2).map { String(decoding: $0.body, as: UTF8.self) }
            #expect(last[0] == last[1])
            for body in [
                "{\"reply\":\"x\"}", "{\"reply\":7}", "{\"conversation\":\"\"}", "{\"name\":\"x\"}", "[",
                "{\"conversation\":\"a\\u001fb\"}",
            ] {
                #expect(try fork(body).status == 422, "\(body)")
            }
            #expect(
                try fork("{\"reply\":\"00112233-4455-4677-8899-aabbccddeeff\"}").json["code"] as? String
                    == "reply_not_found")
        }
    }

    @Test func incompleteReplyCannotEndAFork() async throws {
        let upstream = try ScriptedUpstream(.error(500, "out of memory"))
        try await onStage(upstream: upstream.url) { stage in
            let location = try #require(try stage.chat("app", "one")["Location"])
            let answer = try RawClient.post(
                port: stage.port, "/conversations/app/fork", json: "{\"reply\":\"\(location.dropFirst(9))\"}")
            #expect(answer.status == 409 && answer.json["code"] as? String == "reply_not_complete")
        }
    }

    @Test func conversationOfAnotherOwnerIsUnknown() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            try fill(stage)
            let export = try stage.send("GET", "/conversations/app/export")
            // The HTTP layer refuses the separator in a path, the route refuses it in a name.
            for (path, status) in [
                ("/conversations/app%1F%1Fapp", 400), ("/conversations/app?appID=other", 404),
                ("/conversations/nothing", 404),
                ("/conversations/app%1F?appID=other", 400), ("/conversations/app?appID=a%1Fb", 422),
            ] {
                #expect(try stage.send("GET", path).status == status, "\(path)")
                let parts = path.split(separator: "?", maxSplits: 1)
                let query = parts.count > 1 ? "?" + parts[1] : ""
                #expect(try stage.send("GET", parts[0] + "/export" + query).status == status, "\(path)")
                #expect(
                    try RawClient.post(port: stage.port, parts[0] + "/fork" + query, json: "").status == status,
                    "\(path)")
            }
            #expect(
                try stage.send("GET", "/conversations/app?appID=other").json["code"] as? String
                    == "conversation_not_found")
            // The name of a foreign conversation is free here.
            #expect(try post(stage, "/conversations/app/import?appID=other", export.body).status == 201)
            #expect(try stage.send("GET", "/conversations/app/export").body == export.body)
        }
    }

    @Test func damagedFileIsRefusedAndStoresNothing() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            try fill(stage)
            let file = try stage.send("GET", "/conversations/app/export").body
            for cut in [0, 1, file.count / 3, file.count / 2, file.count - 2] {
                let answer = try post(stage, "/conversations/x/import?appID=app", Array(file[..<cut]))
                #expect(answer.status == 422 && answer.json["code"] as? String == "invalid_request")
            }
            var damaged = file
            damaged[file.count / 2] = 7
            let answer = try post(stage, "/conversations/x/import?appID=app", damaged)
            #expect(answer.status == 422 && (answer.json["error"] as? String)?.hasPrefix("Line ") == true)
            #expect(try post(stage, "/conversations/x/import?appID=app&continue=2", file).status == 422)
            #expect(try stage.send("GET", "/conversations/x?appID=app").status == 404)
            // A form is no file.
            #expect(
                try post(
                    stage, "/conversations/x/import?appID=app", Array("a=b".utf8),
                    type: "application/x-www-form-urlencoded"
                ).status == 422)
            #expect(try post(stage, "/conversations/x/import?appID=app", file, type: "application/json").status == 201)
        }
    }

    @Test func fileIsImportedInPieces() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            try fill(stage)
            let file = try stage.send("GET", "/conversations/app/export").body
            let lines = file.split(separator: 10).map { Array($0) + [10] }
            let first = try post(stage, "/conversations/x/import?appID=app&continue=1", Array(lines[..<4].joined()))
            #expect(first.status == 201 && first.json["complete"] as? Bool == false)
            let wrong = try post(stage, "/conversations/x/import?appID=app&continue=1", Array(lines[5...].joined()))
            #expect(wrong.status == 422 && (wrong.json["error"] as? String)?.contains("does not follow row 3") == true)
            let rest = try post(stage, "/conversations/x/import?appID=app&continue=1", Array(lines[4...].joined()))
            #expect(rest.status == 200 && rest.json["complete"] as? Bool == true && rest.json["rows"] as? Int == 10)
        }
    }

    /// The export is larger than all buffers between the store and the client, which pauses its reading.
    @Test func slowClientGetsAWholeExport() async throws {
        try await onStage(environment: [.unsentLimit: "64KiB", .shards: "1"]) { stage in
            try stage.cluster.query(
                """
                INSERT INTO chatts (appid, seq, name, message)
                SELECT 'app', n, 'user', repeat('x', 5000000) FROM generate_series(1, 12) AS n
                """, database: stage.database)
            let client = try RawClient(port: stage.port, receiveBuffer: 4_096)
            client.request("GET", "/conversations/app/export")
            #expect(try client.readHead(of: "GET").status == 200)
            // Others are served meanwhile.
            #expect(try stage.send("GET", "/conversations/app?limit=1").status == 200)
            let body = client.readBody()
            #expect(String(decoding: body.suffix(64), as: UTF8.self).hasSuffix("{\"end\":true,\"rows\":12}\n"))
        }
    }

    /// A client that leaves in the middle of an export uses no memory and no connection afterwards.
    @Test func clientMayLeaveAnExport() async throws {
        try await onStage(environment: [.unsentLimit: "64KiB", .shards: "1"]) { stage in
            try stage.cluster.query(
                """
                INSERT INTO chatts (appid, seq, name, message)
                SELECT 'app', n, 'user', repeat('x', 5000000) FROM generate_series(1, 12) AS n
                """, database: stage.database)
            for _ in 0..<5 {
                let client = try RawClient(port: stage.port, receiveBuffer: 4_096)
                client.request("GET", "/conversations/app/export")
                #expect(try client.readHead(of: "GET").status == 200)
                client.reset()
            }
            #expect(try stage.send("GET", "/conversations/app?limit=1").status == 200)
        }
    }
}
