import ChatterdConfiguration
import ChatterdTestSupport
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// What a door does with what no model server can do: docs/doors.md, "Ignored members".
@Suite(.timeLimit(.minutes(30))) struct DoorPolicyTests {
    /// What Claude Code sends beside a prompt, streamed or not.
    private static func body(stream: Bool) -> String {
        #"{"model":"tiny","max_tokens":9,"stream":\#(stream),"context_management":{"edits":[{"type":"clear_thinking_20251015"}]},"#
            + #""tools":[{"name":"f","input_schema":{"type":"object"},"defer_loading":true}],"#
            + #""messages":[{"role":"user","content":"Hi"},{"role":"system","content":"Be brief."}]}"#
    }

    @Test(arguments: [false, true]) func clientIsToldWhatHasNoEffect(_ isStreamed: Bool) async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let answer = try RawClient.post(
                port: stage.port, "/v1/messages?beta=true", json: Self.body(stream: isStreamed),
                fields: [("X-App-ID", "shop")])
            #expect(answer.status == 200 && answer.text.contains("Hello"), "\(answer.text)")
            #expect(answer["X-Ignored-Members"] == "context_management, tools[].defer_loading")
            #expect(upstream.requests.last?.messages == [["user", "Hi"], ["system", "Be brief."]])
            let sent = try #require(upstream.requests.last)
            #expect(!String(decoding: sent.body, as: UTF8.self).contains("chatterd_ignored"))
            let location = try #require(answer["Location"])
            let reply = try stage.send("GET", location + "?appID=shop", fields: [("Accept", "application/json")])
            let receipt = reply.json["receipt"] as? [String: Any]
            #expect(receipt?["ignored"] as? [String] == ["context_management", "tools[].defer_loading"])
        }
    }

    @Test func requestWithoutSuchMembersIsAnsweredWithoutTheField() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let answer = try RawClient.post(
                port: stage.port, "/v1/messages",
                json: #"{"model":"tiny","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}"#)
            #expect(answer.status == 200 && answer["X-Ignored-Members"] == nil)
        }
    }

    @Test func countOfTokensTellsWhatHasNoEffect() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let answer = try RawClient.post(
                port: stage.port, "/v1/messages/count_tokens", json: Self.body(stream: false))
            #expect(answer.status == 200)
            #expect(answer["X-Ignored-Members"] == "context_management, tools[].defer_loading")
        }
    }

    @Test func strictDoorsRefuse() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: [.doors: "strict"]) { stage in
            let answer = try RawClient.post(port: stage.port, "/v1/messages", json: Self.body(stream: false))
            #expect(answer.status == 400 && upstream.requests.isEmpty)
            #expect(answer.text.contains("context_management is not supported"), "\(answer.text)")
        }
    }

    @Test(arguments: [("auto", 200), ("disabled", 400)])
    func onlyAClientThatPermitsItLosesItsOldestTurns(_ truncation: String, _ status: Int) async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let prompt = #"{"role":"user","content":"\#(String(repeating: "word ", count: 1_000))"}"#
            func ask(_ items: [String]) throws -> HTTPExchange {
                let members = #""model":"tiny","options":{"num_ctx":2000},"truncation":"\#(truncation)""#
                return try RawClient.post(
                    port: stage.port, ResponseTests.path,
                    json: "{\(members),\"input\":[\(items.joined(separator: ","))]}", fields: [("X-App-ID", "shop")])
            }
            #expect(try ask([prompt]).status == 200)
            let answer = try ask([prompt, #"{"role":"assistant","content":"Hello"}"#, prompt])
            #expect(answer.status == status, "\(answer.text)")
            if status == 400 {
                #expect(answer.text.contains("context_length_exceeded") && upstream.requests.count == 1)
            } else {
                #expect(answer.text.contains(#""truncation":"auto""#) && upstream.requests.last?.messages.count == 1)
            }
        }
    }
}
