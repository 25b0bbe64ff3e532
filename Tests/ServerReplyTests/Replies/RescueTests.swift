import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdServer
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// Model servers that break in the middle of an answer: another one continues the text, or the reply restarts.
@Suite(.timeLimit(.minutes(30))) struct RescueTests {
    private let beginning = ["Once upon a time ", "there was a süßer \u{1f600} "]
    private var begun: String { beginning.joined() }
    private let goesOn = "\"continuation\":\"prefill\""

    /// The server of each piece of the text, as the reply's JSON has it.
    private func parts(_ stage: Stage, _ location: String) throws -> [String] {
        let parts = try stage.describe(location).json["parts"] as? [[String: Any]] ?? []
        return parts.map { part in
            let range = (part["from"] as? Int ?? -1, part["to"] as? Int ?? -1)
            return "\(part["upstream"] as? String ?? ""): \(range.0) to \(range.1)"
        }
    }

    @Test(
        arguments: [
            [.close], [.chunk("{\"model\":\"tiny\",\"mess"), .close], [.endChunks],
            [.chunk("{\"error\":\"out of memory\"}\n"), .endChunks],
            [.chunk("{\"error\":\"out of memory\"}\n" + ModelLine.done()), .endChunks],
            [.chunk("{\"mod\n"), .endChunks],
        ] as [[UpstreamStep]], ["", " "])
    func anotherServerContinuesTheText(_ break: [UpstreamStep], saidAgain space: String) async throws {
        let first = try ScriptedUpstream(.beginning(beginning) + `break`)
        // White space at the end is not sent; some servers generate it again, others do not.
        let second = try ScriptedUpstream.answering([space + "king", " of \u{e9}."])
        let list = severalServers(UpstreamOfList("one", first), UpstreamOfList("two", second, goesOn))
        try await onStage(environment: list) { stage in
            let transcript = Transcript(try stage.chat("app", "prompt"))
            transcript.check()
            let whole = begun + "king of \u{e9}."
            #expect(transcript.outcome == .done && transcript.text == whole)
            #expect(transcript.exchange.events.allSatisfy { $0.name == nil && $0.position?.attempt != 2 })
            #expect(try stage.storedReply("app").summary == ["assistant", whole, "complete"])
            #expect(
                second.requests.map(\.messages) == [[["user", "prompt"], ["assistant", String(begun.dropLast())]]])

            let location = try #require(transcript.exchange["Location"])
            let seam = begun.utf8.count
            #expect(try parts(stage, location) == ["one: 0 to \(seam)", "two: \(seam) to \(whole.utf8.count)"])
            #expect(Transcript(try stage.read(location)).text == whole)
            _ = try stage.chat("app", "next")
            #expect(first.requests.last?.messages[1] == ["assistant", whole])
        }
    }

    @Test func stalledAnswerIsContinued() async throws {
        let first = try ScriptedUpstream(.beginning(beginning, then: .stall))
        let second = try ScriptedUpstream.answering(["king."])
        let list = severalServers(
            UpstreamOfList("one", first, "\"silence_timeout\":\"300ms\""), UpstreamOfList("two", second, goesOn))
        try await onStage(environment: list) { stage in
            let transcript = Transcript(try stage.chat("app", "prompt"))
            transcript.check()
            #expect(transcript.outcome == .done && transcript.text == begun + "king.")
            try first.waitForClose(of: first.requests[0])
        }
    }

    @Test func onlyServerContinuesItsOwnText() async throws {
        let upstream = try ScriptedUpstream(.beginning(beginning, then: .close), .answer(["king."]))
        try await onStage(environment: severalServers(UpstreamOfList("one", upstream, goesOn))) { stage in
            let transcript = Transcript(try stage.chat("app", "prompt"))
            transcript.check()
            #expect(transcript.outcome == .done && transcript.text == begun + "king.")
            let location = try #require(transcript.exchange["Location"])
            #expect(try stage.describe(location).json["attempt"] as? Int == 1)
        }
    }

    @Test func replyRestartsWithAResetEventWithoutAContinuation() async throws {
        let (broken, second) = (Gate(), Gate())
        let first = try ScriptedUpstream(.beginning(beginning, then: .wait(for: broken), .close))
        let other = try ScriptedUpstream([
            .streamHead, .chunk(ModelLine.token("A ")), .wait(for: second), .chunk(ModelLine.token("king.")),
            .chunk(ModelLine.done()), .endChunks,
        ])
        let list = severalServers(UpstreamOfList("one", first), UpstreamOfList("two", other))
        try await onStage(environment: list) { stage in
            let elsewhere = try stage.startAnother()
            defer { #expect(throws: Never.self) { try elsewhere.stop() } }
            let (client, location) = try stage.begin("app", "prompt")
            let readers = try [client, stage.follow(location), elsewhere.follow(location)]
            for reader in readers {
                var text = ""
                while text.utf8.count < begun.utf8.count { text += try reader.nextDataEvent().text }
                #expect(text == begun)
            }
            broken.open()
            for reader in readers {
                let reset = try reader.nextDataEvent()
                #expect(reset.name == "reset" && reset.id == "2~0")
                let data = object(reset.data ?? "")
                #expect(
                    data["reset"] as? Bool == true && data["attempt"] as? Int == 2 && data["done"] as? Bool == false)
                #expect(data["model"] as? String == "tiny" && data["created_at"] is String)
            }
            // A reader that joins now gets the restarted answer only.
            let late = try stage.follow(location)
            for reader in readers + [late] {
                let event = try reader.nextDataEvent()
                #expect(event.name == nil && event.id == "2~2" && event.text == "A ")
            }
            second.open()
            for reader in readers + [late] {
                let rest = reader.readEvents().filter { $0.data != nil }
                #expect(rest.map(\.text).joined() == "king." && rest.last?.id == "2~7-end")
                #expect(reader.bodyEnd == .complete)
            }
            #expect(try stage.storedReply("app").summary == ["assistant", "A king.", "complete"])
            #expect(try parts(stage, location) == ["two: 0 to 7"])
            #expect(try stage.describe(location).json["attempt"] as? Int == 2)
        }
    }

    @Test func clientWithoutResetsShowsTheRestartedAnswer() async throws {
        let first = try ScriptedUpstream(.beginning(beginning, then: .close), .answer(["Yes."]))
        let second = try ScriptedUpstream.answering(["A king."])
        let list = severalServers(UpstreamOfList("one", first), UpstreamOfList("two", second))
        try await onStage(environment: list) { stage in
            let seed = SeedClient(try stage.chat("app", "prompt").body)
            #expect(seed.message == begun + "\n\n[The answer was interrupted and is starting over.]\n\n" + "A king.")
            #expect(seed.errMsg.isEmpty && seed.violation == nil && !seed.isInError)
            // The next prompt is answered as usual: the history has the restarted answer.
            Transcript(try stage.chat("app", "next")).check()
            #expect(
                first.requests.last?.messages == [["user", "prompt"], ["assistant", "A king."], ["user", "next"]])
        }
    }

    @Test func positionInTheDiscardedTextResumesFromTheStart() async throws {
        let first = try ScriptedUpstream(.beginning(beginning, then: .close))
        let second = try ScriptedUpstream.answering(["A king."])
        let list = severalServers(UpstreamOfList("one", first), UpstreamOfList("two", second))
        try await onStage(environment: list) { stage in
            let location = try #require(try stage.chat("app", "prompt")["Location"])
            let events = try stage.read(location, after: "17").events.filter { $0.data != nil }
            #expect(events.first?.name == "reset" && events.first?.id == "2~0")
            #expect(events.dropFirst().map(\.text).joined() == "A king.")
            #expect(try stage.read(location, after: "2~7-end").status == 204)
        }
    }

    @Test func restartWithoutAStreamGivesTheWholeAnswer() async throws {
        let first = try ScriptedUpstream(.beginning(beginning, then: .close))
        let second = try ScriptedUpstream.answering(["A king."])
        let list = severalServers(UpstreamOfList("one", first), UpstreamOfList("two", second))
        try await onStage(environment: list) { stage in
            let answer = try stage.chat("app", "prompt", stream: false)
            #expect(answer.status == 200)
            #expect((answer.json["message"] as? [String: Any])?["content"] as? String == "A king.")
        }
    }

    @Test func restartEmptiesTheJournal() async throws {
        let broken = Gate()
        let long = String(repeating: "Once upon a time. ", count: 20_000)
        let first = try ScriptedUpstream(.beginning([long], then: .wait(for: broken), .close))
        let second = try ScriptedUpstream.answering(["A king."])
        let list = severalServers(
            UpstreamOfList("one", first), UpstreamOfList("two", second), adding: [.journalTick: "20ms"])
        try await onStage(environment: list) { stage in
            let (client, _) = try stage.begin("app", "prompt")
            try eventually("the text is in the journal") {
                try stage.cluster.query("SELECT count(*) FROM chatterd_journal", database: stage.database) != [["0"]]
            }
            broken.open()
            #expect(client.readEvents().last { $0.data != nil }?.id == "2~7-end")
            #expect(try stage.storedReply("app").summary == ["assistant", "A king.", "complete"])
            #expect(
                try stage.cluster.query("SELECT count(*) FROM chatterd_journal", database: stage.database) == [["0"]])
        }
    }

    @Test(arguments: [
        ModelLine.thinking("Let me see. Let me see. Let me see."),
        // The line after the call shows that the call is complete.
        ModelLine.token("Once upon a time there was a king. ")
            + ModelLine.toolCalls([("now", "{}")], .v0_11)[0] + ModelLine.token("So "),
        ModelLine.token("Once"),
    ])
    func answerWithToolCallsOrThinkingIsRestarted(line: String) async throws {
        let first = try ScriptedUpstream([.streamHead, .chunk(line), .close])
        let second = try ScriptedUpstream.answering(["A king."])
        let list = severalServers(UpstreamOfList("one", first, goesOn), UpstreamOfList("two", second, goesOn))
        try await onStage(environment: list) { stage in
            let exchange = try stage.chat("app", "prompt")
            #expect(exchange.events.filter { $0.name == "reset" }.count == 1)
            let row = try stage.storedReply("app")
            #expect(row.summary == ["assistant", "A king.", "complete"])
            #expect(row.thinking ?? "" == "" && row.extras?.contains("now") != true)
            #expect(second.requests.first?.messages == [["user", "prompt"]])
        }
    }

    @Test func serverThatBeginsFromTheStartIsNoContinuation() async throws {
        let first = try ScriptedUpstream(.beginning(beginning, then: .close), .answer(["king."]))
        let second = try ScriptedUpstream.answering(beginning + ["queen."])
        let list = severalServers(UpstreamOfList("one", first, goesOn), UpstreamOfList("two", second, goesOn))
        try await onStage(environment: list) { stage in
            let transcript = Transcript(try stage.chat("app", "prompt"))
            transcript.check()
            #expect(transcript.outcome == .done && transcript.text == begun + "king.")
            #expect(second.requests.count == 1)
        }
    }

    @Test(arguments: ["none", "prefill"]) func textIsKeptAfterTheLastAttempt(continuation: String) async throws {
        let upstream = try ScriptedUpstream { request in
            .beginning(["part \(request.number) of a long, long story. "], then: .close)
        }
        let list = severalServers(UpstreamOfList("one", upstream, "\"continuation\":\"\(continuation)\""))
        try await onStage(environment: list) { stage in
            let exchange = try stage.chat("app", "prompt")
            let last = exchange.events.last { $0.data != nil }
            let error = object(last?.data ?? "")
            #expect(last?.name == "error" && error["code"] as? String == "upstream_incomplete")
            #expect(upstream.requests.count == 3)
            let all = (0..<3).map { "part \($0) of a long, long story. " }
            let kept = continuation == "none" ? all[2] : all.joined()
            #expect(try stage.storedReply("app").summary == ["assistant", kept, "failed"])
            #expect(exchange.events.filter { $0.name == "reset" }.count == (continuation == "none" ? 2 : 0))
            _ = try stage.chat("app", "next")
            #expect(upstream.requests[3].messages == [["user", "prompt"], ["assistant", kept], ["user", "next"]])
        }
    }

    @Test func brokenTextIsKeptUntilAnotherServerBegins() async throws {
        let first = try ScriptedUpstream(.beginning(beginning, then: .close), .error(500, "out of memory"))
        let second = try ScriptedUpstream(.error(503, "loading"))
        let list = severalServers(UpstreamOfList("one", first), UpstreamOfList("two", second))
        try await onStage(environment: list) { stage in
            let transcript = Transcript(try stage.chat("app", "prompt"))
            transcript.check()
            #expect(transcript.outcome == .error("upstream_incomplete"))
            #expect(transcript.text == begun)
            #expect(try stage.storedReply("app").summary == ["assistant", begun, "failed"])
            #expect(first.requests.count + second.requests.count == 3)
        }
    }

    @Test func replyIsStoppedBetweenTwoAttempts() async throws {
        let first = try ScriptedUpstream(.beginning(beginning, then: .close), .busy(retryAfter: 1200), [.stall])
        try await onStage(environment: severalServers(UpstreamOfList("one", first))) { stage in
            let (client, location) = try stage.begin("app", "prompt")
            try first.waitForEnd(of: try first.waitForRequests(2)[1])
            #expect(try stage.stop(location).json["state"] as? String == "cancelled")
            let events = client.readEvents().filter { $0.data != nil }
            #expect(events.map(\.text).joined() == begun && events.last?.isLast == true)
            #expect(try stage.storedReply("app").summary == ["assistant", begun, "cancelled"])
            #expect(first.requests.count == 2)
        }
    }

    @Test func serverStopsBetweenTwoAttempts() async throws {
        let first = try ScriptedUpstream(.beginning(beginning, then: .close), .busy(retryAfter: 1200), [.stall])
        try await onThread {
            let stage = try Stage(environment: severalServers(UpstreamOfList("one", first)))
            let client = try stage.beginChat("app", "prompt")
            try first.waitForEnd(of: try first.waitForRequests(2)[1])
            try stage.stop()
            let events = client.readEvents().filter { $0.data != nil }
            #expect(events.dropLast().map(\.text).joined() == begun)
            #expect(object(events.last?.data ?? "")["code"] as? String == "shutting_down")
            #expect(try stage.storedReply("app").summary == ["assistant", begun, "interrupted"])
        }
    }
}
