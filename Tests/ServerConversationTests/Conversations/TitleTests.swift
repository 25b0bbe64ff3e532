import ChatterdTestSupport
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// `POST /conversations/:c/title`.
@Suite(.timeLimit(.minutes(30))) struct TitleTests {
    @Test func modelMakesTheTitleOnce() async throws {
        let upstream = try ScriptedUpstream { request in
            request.number == 0 ? .answer(["Try the forum."]) : .answer(["\"A week", " in Rome\"\n"])
        }
        try await onStage(upstream: upstream.url) { stage in
            Transcript(try stage.chat("app", "What to see in Rome?")).check()
            let feed = try stage.follow("/conversations/app/events")
            _ = try feed.nextDataEvent()
            let made = try stage.call("POST", "/conversations/app/title", as: nil)
            #expect(made.status == 200 && made.json["title"] as? String == "A week in Rome")
            let asked = try #require(upstream.requests.last?.messages.last)
            #expect(asked[1].contains("What to see in Rome?") && asked[1].contains("Try the forum."))
            let event = try feed.nextDataEvent()
            #expect(event.name == "settings" && event.data?.contains("A week in Rome") == true)
            let again = try stage.call("POST", "/conversations/app/title", as: nil)
            #expect(again.json["title"] as? String == "A week in Rome" && upstream.requests.count == 2)
            // The question is no message of the conversation.
            #expect(try stage.rows("app").count == 2)
        }
    }

    @Test func titleThatIsGivenMeanwhileStays() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream { request in
            request.number == 0
                ? .answer(["Hello"])
                : [
                    .streamHead, .wait(for: gate), .chunk(ModelLine.token("Made")), .chunk(ModelLine.done()),
                    .endChunks,
                ]
        }
        try await onStage(upstream: upstream.url) { stage in
            Transcript(try stage.chat("app", "x")).check()
            let client = try RawClient(port: stage.port)
            client.request("POST", "/conversations/app/title")
            try upstream.waitForRequests(2)
            #expect(try stage.call("PATCH", "/conversations/app", #"{"title":"Mine"}"#, as: nil).status == 200)
            gate.open()
            #expect(try client.readResponse().json["title"] as? String == "Mine")
        }
    }

    @Test func missingServersModelsAndConversationsAreReported() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            #expect(try stage.call("POST", "/conversations/app/title", as: nil).status == 404)
            #expect(
                try stage.call(
                    "POST", "/conversations", #"{"conversation":"app"}"#, as: nil, fields: [("X-App-ID", "app")]
                ).status == 201)
            #expect(try stage.call("POST", "/conversations/app/title", as: nil).status == 422)
            Transcript(try stage.chat("app", "x")).check()
            #expect(try stage.call("POST", "/conversations/app/title", #"{"modell":"x"}"#, as: nil).status == 422)
            let other = try stage.startAnother(upstream: "http://127.0.0.1:9")
            defer { #expect(throws: Never.self) { try other.stop() } }
            let failed = try other.call("POST", "/conversations/app/title", as: nil)
            #expect(failed.status == 502 && failed.json["code"] as? String == "upstream_unavailable")
        }
    }

    @Test(arguments: [
        ("A week in Rome", "A week in Rome"), ("**Title: Rome**\n", "Rome"), ("\"Rome\"", "Rome"),
        ("<think>\nWell\n</think>\n\nRome, 2026.", "Rome, 2026"), ("# Rome\u{7}", "Rome"), ("Sure!\n\nRome", "Rome"),
        ("Île de Ré", "Île de Ré"),
    ])
    func titleIsTheLastLineWithoutMarkup(_ answer: String, _ title: String) {
        #expect(TitleAnswer.title(in: answer) == title)
    }

    @Test(arguments: ["", "\n \n", "\"\"", "<think>Rome", "***"])
    func answerWithoutWordsHasNoTitle(_ answer: String) {
        #expect(TitleAnswer.title(in: answer) == nil)
    }
}
