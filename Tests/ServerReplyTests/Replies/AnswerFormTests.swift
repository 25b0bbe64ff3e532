import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdServer
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServerTestSupport

/// Answers whose form a request names, at the server's own endpoint and at a door.
@Suite(.timeLimit(.minutes(30))) struct AnswerFormTests {
    private let schema = #"{"type":"object","required":["a"]}"#

    private func body(_ more: String = "") -> String {
        #"{"appID":"app","model":"tiny","messages":[{"role":"user","content":"Hi"}],"format":"# + schema + more + "}"
    }

    private var doorBody: String {
        #"{"model":"tiny","messages":[{"role":"user","content":"Hi"}],"response_format":{"type":"json_schema","json_schema":"#
            + #"{"name":"a","schema":"# + schema + "}}}"
    }

    /// The texts of all events after the only reset; `nil` without one.
    private func text(afterResetOf transcript: Transcript) -> String? {
        let events = transcript.exchange.events
        guard events.count(where: { $0.name == "reset" }) == 1 else { return nil }
        return events.drop { $0.name != "reset" }.dropFirst().compactMap { event in
            (object(event.data ?? "{}")["message"] as? [String: Any])?["content"] as? String
        }.joined()
    }

    @Test func repairReplacesTheStreamedAnswer() async throws {
        let upstream = try ScriptedUpstream { .answer([$0.number == 0 ? "{}" : #"{"a":1}"#]) }
        try await onStage(upstream: upstream.url) { stage in
            let transcript = Transcript(try RawClient.post(port: stage.port, "/llmchat", json: body()))
            #expect(transcript.outcome == .done && text(afterResetOf: transcript) == #"{"a":1}"#)
            #expect(try stage.storedReply("app").summary == ["assistant", #"{"a":1}"#, "complete"])
            #expect(upstream.requests.count == 2)
        }
    }

    @Test func answerWithoutItsFormEndsWithAnErrorAndIsKept() async throws {
        let upstream = try ScriptedUpstream.answering(["{}"])
        try await onStage(upstream: upstream.url) { stage in
            let transcript = Transcript(try RawClient.post(port: stage.port, "/llmchat", json: body()))
            #expect(transcript.outcome == .error("answer_violates_format"))
            #expect(text(afterResetOf: transcript)?.hasPrefix("{}The answer does not have the form") == true)
            #expect(try stage.storedReply("app").summary == ["assistant", "{}", "failed"])
            let whole = try RawClient.post(port: stage.port, "/llmchat", json: body(#","stream":false"#))
            #expect(whole.status == 502 && whole.json["code"] as? String == "answer_violates_format")
            let door = try RawClient.post(port: stage.port, "/v1/chat/completions", json: doorBody)
            let error = door.json["error"] as? [String: Any]
            #expect(door.status == 502 && error?["code"] as? String == "answer_violates_format")
        }
    }

    // MARK: - Doors

    /// A door: the beginning of a body, and what only the end of a complete stream has.
    private static let doors: [(path: String, body: String, end: String)] = {
        let schema = #"{"type":"object","required":["a"]}"#
        let messages = #""messages":[{"role":"user","content":"Hi"}]"#
        return [
            (
                "/v1/chat/completions",
                #"\#(messages),"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":\#(schema)}}"#,
                "[DONE]"
            ),
            (
                "/v1/responses",
                #""input":"Hi","text":{"format":{"type":"json_schema","name":"a","schema":\#(schema)}}"#,
                "response.completed"
            ),
            (
                "/v1/messages",
                #"\#(messages),"max_tokens":99,"output_config":{"format":{"type":"json_schema","schema":\#(schema)}}"#,
                "message_stop"
            ),
            ("/api/chat", #"\#(messages),"format":\#(schema)"#, #""done":true"#),
            ("/api/generate", #""prompt":"Hi","format":\#(schema)"#, #""done":true"#),
        ]
    }()

    private func post(_ index: Int, at stage: Stage, stream: Bool) throws -> HTTPExchange {
        let door = Self.doors[index]
        return try RawClient.post(
            port: stage.port, door.path, json: #"{"model":"tiny",\#(door.body),"stream":\#(stream)}"#)
    }

    @Test(arguments: doors.indices) func doorGivesTheRepairedAnswer(index: Int) async throws {
        let upstream = try ScriptedUpstream { .answer([$0.number == 0 ? "words" : #"{"a":1}"#]) }
        try await onStage(upstream: upstream.url) { stage in
            let whole = try post(index, at: stage, stream: false)
            #expect(whole.status == 200 && whole.text.contains(#"{\"a\":1}"#) && !whole.text.contains("words"))
        }
    }

    @Test(arguments: doors.indices) func doorNamesAnAnswerWithoutItsForm(index: Int) async throws {
        let upstream = try ScriptedUpstream.answering(["words"])
        try await onStage(upstream: upstream.url) { stage in
            let whole = try post(index, at: stage, stream: false)
            #expect(whole.status == 502 && whole.text.contains("does not have the form"))
        }
    }

    /// A door cannot take back what it has streamed, so it never adds a second answer, and never presents the first one as complete.
    @Test(arguments: doors.indices) func streamOfADoorEndsWithAnErrorWhenItsAnswerIsRepaired(index: Int) async throws {
        let upstream = try ScriptedUpstream { .answer([$0.number == 0 ? "words" : #"{"a":1}"#]) }
        try await onStage(upstream: upstream.url) { stage in
            let stream = try post(index, at: stage, stream: true)
            #expect(stream.text.contains("words") && stream.text.contains("The answer was interrupted, and restarts."))
            #expect(!stream.text.contains(Self.doors[index].end) && !stream.text.contains(#"{\"a\":1}"#))
            // The reply is complete at its address.
            let location = try #require(stream["Location"])
            #expect(Transcript(try stage.read(location)).text == #"{"a":1}"#)
        }
    }
}
