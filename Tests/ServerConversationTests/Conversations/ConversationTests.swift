import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// The messages of a conversation, and their order.
@Suite(.timeLimit(.minutes(30))) struct ConversationTests {
    @Test func historyIsReplayedInOrder() async throws {
        let upstream = try ScriptedUpstream(.answer(["Hi ", "Ishmael"]), .answer(["You are Ishmael."]))
        try await onStage(upstream: upstream.url) { stage in
            Transcript(try stage.chat("app", "my name is Ishmael")).check()
            Transcript(try stage.chat("app", "what is my name?")).check()
            #expect(upstream.requests[0].messages == [["user", "my name is Ishmael"]])
            #expect(
                upstream.requests[1].messages == [
                    ["user", "my name is Ishmael"], ["assistant", "Hi Ishmael"], ["user", "what is my name?"],
                ])
            #expect(
                try stage.rows("app").map(\.summary) == [
                    ["user", "my name is Ishmael"], ["assistant", "Hi Ishmael", "complete"],
                    ["user", "what is my name?"],
                    ["assistant", "You are Ishmael.", "complete"],
                ])
        }
    }

    @Test func appsDoNotSeeEachOther() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            for app in ["one", "One", "one ", "o%", "_ne"] {
                Transcript(try stage.chat(app, "secret of \(app)")).check()
                #expect(upstream.requests.last?.messages == [["user", "secret of \(app)"]])
            }
        }
    }

    @Test func messagesOfOneRequestAreStoredInOrder() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            let messages = [
                ["system", "be brief"], ["user", "a"], ["assistant", "b"], ["tool", "c"], ["user", "d"],
            ]
            let json = messages.map { "{\"role\":\"\($0[0])\",\"content\":\"\($0[1])\"}" }.joined(separator: ",")
            let body = "{\"appID\":\"app\",\"model\":\"tiny\",\"messages\":[\(json)],\"stream\":true}"
            Transcript(try RawClient.post(port: stage.port, "/llmchat", json: body)).check()
            #expect(upstream.requests[0].messages == messages)
            #expect(try stage.rows("app").map(\.role) == ["system", "user", "assistant", "tool", "user", "assistant"])
        }
    }

    @Test func prepReplacesTheConversationWithoutAskingTheModel() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            Transcript(try stage.chat("app", "old")).check()
            Transcript(try stage.chat("other", "theirs")).check()
            let body = chatBody("app", "be a pirate", role: "system", stream: false)
            let prep = try RawClient.post(port: stage.port, "/llmprep", json: body)
            #expect(prep.status == 200)
            #expect(prep.text == "{}\n")
            #expect(upstream.requests.count == 2)
            #expect(try stage.rows("app").map(\.summary) == [["system", "be a pirate"]])

            Transcript(try stage.chat("app", "new")).check()
            #expect(upstream.requests.last?.messages == [["system", "be a pirate"], ["user", "new"]])
            #expect(try stage.rows("other").count == 2)
        }
    }

    @Test func prepDuringAnAnswerEndsItWithAnError() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream(
            [.streamHead, .chunk(ModelLine.token("Hello")), .wait(for: gate), .chunk(ModelLine.done()), .endChunks],
            .answer(["fresh"]))
        try await onStage(upstream: upstream.url) { stage in
            let client = try stage.beginChat("app", "old")
            _ = try client.nextDataEvent()
            let body = chatBody("app", "new", role: "system", stream: false)
            #expect(try RawClient.post(port: stage.port, "/llmprep", json: body).status == 200)
            gate.open()
            let end = try client.nextDataEvent()
            #expect(end.name == "error")
            #expect(object(end.data ?? "")["code"] as? String == "conversation_replaced")
            Transcript(try stage.chat("app", "prompt")).check()
            #expect(upstream.requests.last?.messages == [["system", "new"], ["user", "prompt"]])
        }
    }

    @Test func promptsOfOneConversationWaitForEachOther() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream { request in
            request.number == 0
                ? [
                    .streamHead, .wait(for: gate), .chunk(ModelLine.token("first")), .chunk(ModelLine.done()),
                    .endChunks,
                ]
                : .answer(["later"])
        }
        try await onStage(upstream: upstream.url) { stage in
            let first = try stage.beginChat("app", "one")
            try upstream.waitForRequests(1)
            // The second is accepted and stored at once, and waits for its turn; a third conversation does not.
            let second = try stage.beginChat("app", "two")
            Transcript(try stage.chat("other", "free")).check()
            #expect(upstream.requests.count == 2)
            #expect(try stage.rows("app").map(\.summary) == [["user", "one"], ["user", "two"]])
            gate.open()
            #expect(first.readEvents().filter { $0.data != nil }.count == 2)
            #expect(second.readEvents().filter { $0.data != nil }.count == 2)
            #expect(
                upstream.requests.last?.messages == [["user", "one"], ["assistant", "first"], ["user", "two"]])
            #expect(
                try stage.rows("app").map(\.summary) == [
                    ["user", "one"], ["assistant", "first", "complete"], ["user", "two"],
                    ["assistant", "later", "complete"],
                ])
        }
    }

    @Test func tooManyWaitingPromptsAreRefused() async throws {
        let upstream = try ScriptedUpstream([.streamHead, .stall])
        try await onStage(
            upstream: upstream.url, environment: [.maximumWaitingTurns: "1", .disconnectGrace: "0"]
        ) {
            stage in
            let running = try stage.beginChat("app", "one")
            let waiting = try stage.beginChat("app", "two")
            let refused = try stage.chat("app", "three")
            #expect(refused.status == 503)
            #expect(refused.json["code"] as? String == "overloaded")
            #expect(refused["Retry-After"].flatMap { Int($0) } != nil)
            #expect(try stage.rows("app").count == 2)
            running.close()
            waiting.close()
        }
    }

    @Test func failedAnswerIsStoredAndReplayed() async throws {
        let upstream = try ScriptedUpstream(
            .answer(["good"]), .lines([ModelLine.token("half"), ModelLine.error("boom")]), .answer(["better"]))
        try await onStage(upstream: upstream.url) { stage in
            Transcript(try stage.chat("app", "one")).check()
            Transcript(try stage.chat("app", "two")).check()
            Transcript(try stage.chat("app", "three")).check()
            #expect(
                upstream.requests.last?.messages == [
                    ["user", "one"], ["assistant", "good"], ["user", "two"], ["assistant", "half"], ["user", "three"],
                ])
            #expect(
                try stage.rows("app").map(\.summary) == [
                    ["user", "one"], ["assistant", "good", "complete"], ["user", "two"],
                    ["assistant", "half", "failed"],
                    ["user", "three"], ["assistant", "better", "complete"],
                ])
        }
    }

    @Test func concurrentConversationsStayApart() async throws {
        let upstream = try ScriptedUpstream { request in
            .answer(request.messages.map { $0.joined(separator: "=") + ";" })
        }
        try await onStage(upstream: upstream.url) { stage in
            let clients = try (0..<20).map { try stage.beginChat("app\($0)", "prompt \($0)") }
            for (number, client) in clients.enumerated() {
                let text = String(decoding: client.readBody(), as: UTF8.self)
                #expect(text.contains("user=prompt \(number);"))
                #expect(client.bodyEnd == .complete)
            }
        }
    }
}
