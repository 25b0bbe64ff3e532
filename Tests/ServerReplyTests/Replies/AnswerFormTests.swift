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

    @Test func doorGivesTheRepairedAnswer() async throws {
        let upstream = try ScriptedUpstream { .answer([$0.number == 0 ? "no" : #"{"a":1}"#]) }
        try await onStage(upstream: upstream.url) { stage in
            let door = try RawClient.post(port: stage.port, "/v1/chat/completions", json: doorBody)
            let choice = (door.json["choices"] as? [[String: Any]])?.first?["message"] as? [String: Any]
            #expect(door.status == 200 && choice?["content"] as? String == #"{"a":1}"#)
        }
    }

    @Test func streamOfADoorEndsWithAnErrorWhenItsAnswerIsRepaired() async throws {
        let upstream = try ScriptedUpstream { .answer([$0.number == 0 ? "no" : #"{"a":1}"#]) }
        try await onStage(upstream: upstream.url) { stage in
            let streamed = doorBody.dropLast() + #","stream":true}"#
            let door = try RawClient.post(port: stage.port, "/v1/chat/completions", json: String(streamed))
            #expect(door.text.contains(#""code":"interrupted""#) && !door.text.contains("[DONE]"))
            // The reply is complete at its address.
            let location = try #require(door["Location"])
            #expect(Transcript(try stage.read(location)).text == #"{"a":1}"#)
        }
    }
}
