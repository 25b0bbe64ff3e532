import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// Every kind of database outage, by the bytes of the client and by the rows.
@Suite(.timeLimit(.minutes(30))) struct StoreMatrixTests {
    @Test func databaseThatIsDownAtTheStartIsAwaited() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onThread {
            let cluster = try PrivateCluster.make()
            let database = try cluster.makeDatabase()
            try cluster.stop()
            let program = try TestProgram(
                "chatterd", ["serve"], environment: Stage.environment(upstream: upstream.url, database: database))
            try cluster.start()
            let port = try program.waitForPort()
            try eventually("ready", isTrue: { try RawClient.get(port: port, "/readyz").status == 200 })
            Transcript(try RawClient.post(port: port, "/llmchat", json: chatBody("app", "late"))).check()
            #expect(
                try StoredRow.all("app", in: database, of: cluster).map(\.summary) == [
                    ["user", "late"], ["assistant", "Hello", "complete"],
                ])
            program.signal(15)
            let code = try program.waitForExit()
            #expect(code == 0, "\(program.lines.joined(separator: "\n"))")
        }
    }

    @Test func databaseThatStaysDownEndsTheStart() async throws {
        try await onThread {
            let environment = Stage.environment(
                upstream: "http://127.0.0.1:9", database: "host=/nonexistent dbname=x password=secret-word",
                [.storeStartTimeout: "500ms"])
            let program = try TestProgram("chatterd", ["serve"], environment: environment)
            #expect(try program.waitForExit() == 1)
            #expect(!program.lines.isEmpty)
            #expect(!program.lines.joined().contains("secret-word"))
        }
    }

    @Test func databaseThatIsDownRefusesPromptsUntilItIsBack() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onThread {
            let cluster = try PrivateCluster.make()
            let stage = try Stage(upstream: upstream.url, environment: [.storeTimeout: "3s"], cluster: cluster)
            defer { #expect(throws: Never.self) { try stage.stop() } }
            try chatUntilAnswered(stage, "app", "one")
            try cluster.stop(.immediate)
            checkStoreIsUnavailable(try stage.chat("app", "two"))
            checkStoreIsUnavailable(try stage.chat("app", "two", stream: false))
            checkStoreIsUnavailable(try RawClient.get(port: stage.port, "/getchatts"))
            #expect(upstream.requests.count == 1)

            try cluster.start()
            try chatUntilAnswered(stage, "app", "three")
            #expect(
                upstream.requests.last?.messages == [["user", "one"], ["assistant", "Hello"], ["user", "three"]])
        }
    }

    /// A disk that is full refuses what needs another page. The lease, which needs none, is renewed all the time.
    @Test func databaseWithoutSpaceIsNotReady() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onThread {
            let cluster = try PrivateCluster.shared()
            let stage = try Stage(upstream: upstream.url, cluster: cluster)
            defer { #expect(throws: Never.self) { try stage.stop() } }
            try eventually("ready", isTrue: { try RawClient.get(port: stage.port, "/readyz").status == 200 })
            let sql = { (text: String) in try cluster.query(text, database: stage.database) }
            _ = try sql(
                """
                CREATE FUNCTION is_full() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN RAISE disk_full USING MESSAGE = 'could not extend file'; END $$;
                CREATE TRIGGER is_full BEFORE INSERT ON chatts EXECUTE FUNCTION is_full();
                CREATE TRIGGER is_full BEFORE INSERT ON chatterd_attachments EXECUTE FUNCTION is_full()
                """)
            let refused = try stage.chat("app", "one")
            checkStoreIsUnavailable(refused)
            let unready = try RawClient.get(port: stage.port, "/readyz")
            checkStoreIsUnavailable(unready)
            for answer in [refused, unready] {
                #expect((answer.json["error"] as? String)?.contains("no disk space") == true)
            }
            _ = try sql("DROP FUNCTION is_full CASCADE")
            // The process finds that out without a prompt.
            try eventually("ready", isTrue: { try RawClient.get(port: stage.port, "/readyz").status == 200 })
            #expect(try sql("SELECT count(*) FROM chatterd_attachments") == [["0"]])
            try chatUntilAnswered(stage, "app", "two")
        }
    }

    @Test func answerIsStoredAfterALongOutageOfTheDatabase() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream(script(gate), .answer(["again"]))
        try await onThread {
            let cluster = try PrivateCluster.make()
            let stage = try Stage(
                upstream: upstream.url, environment: [.storeRetryTimeout: "1s", .storeTimeout: "3s"], cluster: cluster)
            defer { #expect(throws: Never.self) { try stage.stop() } }
            let client = try beginUntilTaken(stage, "app", "one")
            let seen = try client.nextDataEvent()
            try cluster.stop(.immediate)
            gate.open()
            let end = try client.nextDataEvent()
            // The error does not end the reply: the outcome of its close is unknown.
            #expect(end.name == "error" && end.id == nil)
            let error = object(end.data ?? "")
            #expect(error["code"] as? String == "store_unavailable" && error["retryable"] as? Bool == true)
            let location = try #require((error["error"] as? String)?.firstMatch(of: /\/replies\/[0-9a-f-]+/)?.output)
            #expect(client.nextEvent() == nil && client.bodyEnd == .complete)

            try cluster.start()
            try eventually("ready", isTrue: { try RawClient.get(port: stage.port, "/readyz").status == 200 })
            // The answer is stored unchanged, and a reader that comes back gets its end.
            let rest = try eventually("the reply can be read") { () -> HTTPExchange? in
                let answer = try stage.read(String(location), after: seen.id)
                return answer.status == 200 && answer.events.last?.id != nil ? answer : nil
            }
            #expect(rest.events.last?.id == "5-end" && rest.events.last?.name == nil)
            try expectStoredAndReplayed(stage, upstream)
        }
    }

    /// The answer to "one" is stored, and the next prompt takes it to the model server.
    private func expectStoredAndReplayed(_ stage: Stage, _ upstream: ScriptedUpstream) throws {
        #expect(try stage.storedReply("app").summary == ["assistant", "Hello", "complete"])
        try chatUntilAnswered(stage, "app", "two")
        #expect(
            upstream.requests.last?.messages.suffix(3) == [
                ["user", "one"], ["assistant", "Hello"], ["user", "two"],
            ])
    }

    @Test func answerIsStoredAfterTheDatabaseWasFrozen() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream(script(gate), .answer(["again"]))
        try await onThread {
            let cluster = try PrivateCluster.make()
            let stage = try Stage(
                upstream: upstream.url, environment: [.storeRetryTimeout: "1s", .storeTimeout: "3s"], cluster: cluster)
            defer { #expect(throws: Never.self) { try stage.stop() } }
            let client = try beginUntilTaken(stage, "app", "one")
            _ = try client.nextDataEvent()
            try cluster.pause()
            gate.open()
            let end = try client.nextDataEvent()
            #expect(end.name == "error" && end.id == nil)
            #expect(object(end.data ?? "")["code"] as? String == "store_unavailable")
            // The first close may commit now, or the repeated one: the answer is the same.
            try cluster.resume()
            try expectStoredAndReplayed(stage, upstream)
        }
    }

    @Test func answerIsStoredAfterAShortOutageOfTheDatabase() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream(script(gate), .answer(["again"]))
        try await onThread {
            let cluster = try PrivateCluster.make()
            let stage = try Stage(upstream: upstream.url, environment: [.storeRetryTimeout: "60s"], cluster: cluster)
            defer { #expect(throws: Never.self) { try stage.stop() } }
            let client = try stage.beginChat("app", "one")
            _ = try client.nextDataEvent()
            try cluster.stop(.immediate)
            gate.open()
            try cluster.start()
            let rest = client.readEvents().filter { $0.data != nil }
            #expect(rest.map(\.name) == [nil])
            #expect(try stage.rows("app").map(\.summary) == [["user", "one"], ["assistant", "Hello", "complete"]])
        }
    }

    @Test func readOnlyDatabaseRefusesPrompts() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            try stage.cluster.setReadOnly(true, database: stage.database)
            // The first statements may still meet connections that are being ended.
            let refused = try eventually("a refusal") {
                let answer = try stage.chat("app", "one")
                return answer.status == 503 ? answer : nil
            }
            checkStoreIsUnavailable(refused)
            #expect(upstream.requests.isEmpty)
            #expect(try stage.rows("app").isEmpty)
            try stage.cluster.setReadOnly(false, database: stage.database)
            try chatUntilAnswered(stage, "app", "two")
        }
    }

    /// The course's own test of the error event: the last insert fails.
    @Test func lastInsertFails() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello", " world"])
        try await onStage(upstream: upstream.url) { stage in
            try stage.cluster.query(
                """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'secret of the database'; END $$;
                CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON chatts FOR EACH ROW
                WHEN (NEW.name = 'assistant' AND NEW.state <> 'streaming')
                EXECUTE FUNCTION refuse()
                """, database: stage.database)
            let transcript = Transcript(try stage.chat("app", "one"))
            transcript.check()
            #expect(transcript.text == "Hello world")
            // The state cannot be stored either, so the reply announces no end.
            #expect(transcript.outcome == .error("store_unavailable"))
            #expect(transcript.exchange.events.last?.id == nil)
            #expect(!transcript.exchange.text.contains("secret"))
            #expect(try stage.rows("app").map(\.summary) == [["user", "one"]])

            let whole = try stage.chat("whole", "one", stream: false)
            #expect(whole.status == 503 && whole["Location"] != nil)
            #expect(whole.json["code"] as? String == "store_unavailable")

            // The conversation continues, with or without the repair of the database.
            let second = Transcript(try stage.chat("app", "still refused"))
            second.check()
            #expect(second.outcome == .error("store_unavailable"))
            #expect(upstream.requests.last?.messages == [["user", "still refused"]])

            try stage.cluster.query("DROP TRIGGER refuse ON chatts", database: stage.database)
            Transcript(try stage.chat("app", "two")).check()
            // What the journal had of the replies depends on the time that they ran.
            #expect(upstream.requests.last?.messages == (try stage.rows("app").dropLast().replayed))
        }
    }

    @Test func databaseRefusesTheText() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello", " world"])
        try await onStage(upstream: upstream.url) { stage in
            try stage.cluster.query(
                "ALTER TABLE chatts ADD CONSTRAINT secret CHECK (state <> 'complete') NOT VALID",
                database: stage.database)
            let transcript = Transcript(try stage.chat("app", "one"))
            transcript.check()
            #expect(transcript.text == "Hello world" && transcript.outcome == .error("reply_not_stored"))
            #expect(transcript.exchange.events.last?.id == "11-end")
            #expect(try stage.storedReply("app").summary == ["assistant", "Hello world", "failed"])
            let whole = try stage.chat("whole", "one", stream: false)
            #expect(whole.status == 500 && whole.json["code"] as? String == "reply_not_stored")
            try stage.cluster.query("ALTER TABLE chatts DROP CONSTRAINT secret", database: stage.database)
            Transcript(try stage.chat("app", "two")).check()
            #expect(
                upstream.requests.last?.messages == [
                    ["user", "one"], ["assistant", "Hello world"], ["user", "two"],
                ])
        }
    }

    @Test func firstInsertFails() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            try stage.cluster.query(
                "ALTER TABLE chatts ADD CONSTRAINT secret CHECK (message <> 'bad') NOT VALID", database: stage.database)
            let refused = try stage.chat("app", "bad")
            #expect(refused.status >= 500)
            #expect(!refused.text.contains("secret"))
            #expect(refused.json["error"] is String && refused.json["code"] is String)
            #expect(upstream.requests.isEmpty)
            Transcript(try stage.chat("app", "good")).check()
            #expect(upstream.requests.last?.messages == [["user", "good"]])
        }
    }

    @Test func frozenDatabaseDelaysPromptsAndNotRunningAnswers() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream { request in
            request.number == 0 ? script(gate) : .answer(["late"])
        }
        try await onThread {
            let cluster = try PrivateCluster.make()
            let stage = try Stage(upstream: upstream.url, environment: [.storeRetryTimeout: "60s"], cluster: cluster)
            defer { #expect(throws: Never.self) { try stage.stop() } }
            let running = try stage.beginChat("running", "one")
            _ = try running.nextDataEvent()
            try cluster.pause()
            // A prompt that cannot be committed is not answered with 200; the running answer continues.
            let waiting = try RawClient(port: stage.port)
            waiting.post("/llmchat", json: chatBody("waiting", "two"))
            #expect(try RawClient.get(port: stage.port, "/healthz").status == 200)
            gate.open()
            #expect(upstream.requests.count == 1)
            try cluster.resume()
            #expect(running.readEvents().last?.name == nil)
            let answer = Transcript(try waiting.readResponse())
            answer.check()
            #expect(answer.text == "late")
        }
    }

    @Test func databaseThatStaysFrozenRefusesPrompts() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onThread {
            let cluster = try PrivateCluster.make()
            let stage = try Stage(
                upstream: upstream.url,
                environment: [.storeRetryTimeout: "1s", .storeTimeout: "3s"],
                cluster: cluster)
            defer { #expect(throws: Never.self) { try stage.stop() } }
            try chatUntilAnswered(stage, "app", "one")
            try cluster.pause()
            checkStoreIsUnavailable(try stage.chat("app", "two"))
            #expect(upstream.requests.count == 1)
            try cluster.resume()
            try chatUntilAnswered(stage, "app", "three")
        }
    }

    @Test func connectionsThatAnAdministratorEndsAreReplaced() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            for round in 0..<3 {
                try stage.cluster.terminateBackends(of: stage.database)
                try chatUntilAnswered(stage, "app\(round)", "prompt")
                #expect(try stage.storedReply("app\(round)").text == "Hello")
            }
        }
    }

    /// Each shard detects separately that the store is available.
    private func chatUntilAnswered(_ stage: Stage, _ appID: String, _ prompt: String) throws {
        try eventually("the store is back") { () -> Bool? in
            let answer = try stage.chat(appID, prompt)
            guard answer.status == 200 else { return nil }
            Transcript(answer).check()
            return true
        }
    }

    /// Sends a prompt until it is accepted, because the timeout of the store is very short; then reads the head.
    private func beginUntilTaken(_ stage: Stage, _ appID: String, _ prompt: String) throws -> RawClient {
        try eventually("the prompt is accepted") { () -> RawClient? in
            let client = try RawClient(port: stage.port)
            client.post("/llmchat", json: chatBody(appID, prompt))
            return try client.readHead().status == 200 ? client : nil
        }
    }

    private func script(_ gate: Gate) -> [UpstreamStep] {
        [
            .streamHead, .chunk(ModelLine.token("Hello")), .wait(for: gate), .chunk(ModelLine.done()), .endChunks,
        ]
    }
}

/// Checks the answer of a server whose database is unavailable.
private func checkStoreIsUnavailable(_ answer: HTTPExchange, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(answer.status == 503, sourceLocation: sourceLocation)
    #expect(answer["Retry-After"].flatMap { Int($0) } != nil, sourceLocation: sourceLocation)
    #expect(answer.json["code"] as? String == "store_unavailable", sourceLocation: sourceLocation)
    let words = answer.json["error"] as? String ?? ""
    #expect(!words.isEmpty && !words.contains("/tmp") && !words.contains("host="), sourceLocation: sourceLocation)
}
