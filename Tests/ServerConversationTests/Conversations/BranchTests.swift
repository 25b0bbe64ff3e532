import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// Other answers to the same prompt, and prompts from an earlier point of the conversation.
@Suite(.timeLimit(.minutes(30))) struct BranchTests {
    /// Numbers its answers: a1, a2, …
    private func counting() throws -> ScriptedUpstream {
        try ScriptedUpstream { .answer(["a\($0.number + 1)"]) }
    }

    private func choose(_ location: String, on stage: Stage) throws -> HTTPExchange {
        try stage.send("POST", location + "/choose")
    }

    @Test func regenerateGivesAnotherAnswerToTheSamePrompt() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            Transcript(try stage.chat("app", "one")).check()
            let old = try #require(
                try stage.ask("app", "two", adding: ",\"options\":{\"seed\":7}")["Location"])
            let answer = Transcript(try RawClient.post(port: stage.port, old + "/regenerate", json: ""))
            answer.check()
            #expect(answer.text == "a3")
            let new = try #require(answer.exchange["Location"])
            #expect(new != old)
            let history = [["user", "one"], ["assistant", "a1"], ["user", "two"]]
            #expect(upstream.requests.map(\.messages)[1...] == [history, history])
            #expect(upstream.requests[2].json["options"] as? [String: Int] == ["seed": 7])
            // The old reply is kept, and the conversation continues from the new one.
            #expect(Transcript(try stage.read(old)).text == "a2")
            Transcript(try stage.chat("app", "three")).check()
            #expect(upstream.requests[3].messages == history + [["assistant", "a3"], ["user", "three"]])
            // The client chooses the old reply, and the conversation continues from that one.
            #expect(try choose(old, on: stage).text == "{}\n")
            Transcript(try stage.chat("app", "four")).check()
            #expect(upstream.requests[4].messages == history + [["assistant", "a2"], ["user", "four"]])
        }
    }

    @Test func regenerateAcceptsAnotherModelAndForm() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            let old = try #require(try stage.chat("app", "one")["Location"])
            let body =
                "{\"model\":\"big\",\"stream\":false,\"on_disconnect\":\"finish\",\"on_interrupt\":\"regenerate\"}"
            let answer = try RawClient.post(port: stage.port, old + "/regenerate", json: body)
            #expect(answer.status == 200)
            #expect((answer.json["message"] as? [String: Any])?["content"] as? String == "a2")
            #expect(upstream.requests[1].json["model"] as? String == "big")
            let location = try #require(answer["Location"])
            #expect(try stage.describe(location).json["model"] as? String == "big")
            // A request without members repeats those of the last reply.
            Transcript(try RawClient.post(port: stage.port, location + "/regenerate", json: "{}")).check()
            #expect(upstream.requests[2].json["model"] as? String == "big")
        }
    }

    @Test func failedTurnCanBeRegenerated() async throws {
        let upstream = try ScriptedUpstream(.error(500, "out of memory"), .answer(["Hello"]))
        try await onStage(upstream: upstream.url) { stage in
            let failed = Transcript(try stage.chat("app", "one"))
            failed.check()
            let location = try #require(failed.exchange["Location"])
            #expect(try choose(location, on: stage).json["code"] as? String == "reply_not_complete")
            let again = Transcript(try RawClient.post(port: stage.port, location + "/regenerate", json: ""))
            again.check()
            #expect(again.text == "Hello")
            #expect(upstream.requests.map(\.messages) == [[["user", "one"]], [["user", "one"]]])
        }
    }

    @Test func promptCanFollowAnEarlierReply() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            let system = chatBody("app", "Be brief.", role: "system")
            #expect(try RawClient.post(port: stage.port, "/llmprep", json: system).status == 200)
            let first = try #require(try stage.chat("app", "one")["Location"]).dropFirst(9)
            Transcript(try stage.chat("app", "two")).check()
            let seed = ["system", "Be brief."]

            Transcript(try stage.ask("app", "2nd", adding: ",\"parent\":\"\(first)\"")).check()
            #expect(upstream.requests[2].messages == [seed, ["user", "one"], ["assistant", "a1"], ["user", "2nd"]])
            // The next prompt follows the branch.
            Transcript(try stage.chat("app", "3rd")).check()
            #expect(
                upstream.requests[3].messages == [
                    seed, ["user", "one"], ["assistant", "a1"], ["user", "2nd"], ["assistant", "a3"], ["user", "3rd"],
                ])

            Transcript(try stage.ask("app", "anew", adding: ",\"parent\":\"start\"")).check()
            #expect(upstream.requests[4].messages == [seed, ["user", "anew"]])
        }
    }

    @Test func parentOfAnotherConversationIsRefused() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            let foreign = try #require(try stage.chat("other", "one")["Location"]).dropFirst(9)
            for id in [String(foreign), "00112233-4455-4677-8899-aabbccddeeff"] {
                let answer = try stage.ask("app", "x", adding: ",\"parent\":\"\(id)\"")
                #expect(answer.status == 404)
                #expect(answer.json["code"] as? String == "reply_not_found")
            }
            for text in ["end", "START", "0", "00112233-4455-4677-8899-aabbccddeef-"] {
                #expect(try stage.ask("app", "x", adding: ",\"parent\":\"\(text)\"").status == 422, "\(text)")
            }
            #expect(upstream.requests.count == 1)
            #expect(try stage.rows("app").isEmpty)
        }
    }

    @Test func runningReplyCannotBeChosen() async throws {
        let upstream = try ScriptedUpstream.stalling(after: "Hello")
        try await onStage(upstream: upstream.url) { stage in
            let (client, location) = try stage.begin("app", "x")
            _ = try client.nextDataEvent()
            let answer = try choose(location, on: stage)
            #expect(answer.status == 409)
            #expect(answer.json["code"] as? String == "reply_not_complete")
            #expect(try stage.send("DELETE", location).status == 200)
        }
    }
}
