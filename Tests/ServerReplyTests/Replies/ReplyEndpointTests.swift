import ChatterdRelay
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServerTestSupport

/// `GET /replies/:id`.
@Suite(.timeLimit(.minutes(30))) struct ReplyEndpointTests {
    private static let unknown = "/replies/00112233-4455-4677-8899-aabbccddeeff"

    @Test(arguments: [true, false]) func everyAnswerHasTheLocationOfItsReply(stream: Bool) async throws {
        let upstream = try ScriptedUpstream.answering(["Hel", "lo"])
        try await onStage(upstream: upstream.url) { stage in
            let answer = try stage.chat("app", "x", stream: stream)
            let location = try #require(answer["Location"])
            #expect(location.wholeMatch(of: /\/replies\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/) != nil)
            let again = Transcript(try stage.read(location))
            again.check()
            #expect(again.text == "Hello")
            #expect(again.exchange["Location"] == location)
            #expect(again.exchange.text.hasPrefix("retry: 1000\n"))
            #expect(upstream.requests.count == 1)
        }
    }

    @Test func replyIsResumedFromEveryEvent() async throws {
        let tokens = ["H", "é", "llo ", "\u{1f600}", "\n", " wörld"]
        let upstream = try ScriptedUpstream.answering(tokens)
        try await onStage(upstream: upstream.url) { stage in
            let first = Transcript(try stage.chat("app", "x"))
            first.check()
            let location = try #require(first.exchange["Location"])
            let events = first.exchange.events.filter { $0.data != nil }
            var got = ""
            for event in events.dropLast() {
                got += event.text
                let position = try #require(event.position)
                let rest = Transcript(try stage.read(location, after: event.id), from: position)
                rest.check()
                #expect(got + rest.text == tokens.joined())
                #expect(rest.lines.last == first.lines.last)
                let asked = try stage.send("GET", "\(location)?last_event_id=\(event.id ?? "")")
                #expect(asked.body == rest.exchange.body)
            }
            for method in ["GET", "HEAD"] {
                let over = try stage.send(method, location, fields: [("Last-Event-ID", events.last?.id ?? "")])
                #expect(over.status == 204)
                #expect(over.body.isEmpty)
                #expect(over["Cache-Control"] == "no-store")
                #expect(try stage.send(method, location).status == 200)
            }
        }
    }

    @Test func thinkingAndToolCallsAreResumed() async throws {
        let lines =
            [ModelLine.thinking("Hm "), ModelLine.thinking("hö"), ModelLine.token("It")]
            + ModelLine.toolCalls([("f", "{\"a\":1}"), ("g", "{}")], .v0_11)
        let upstream = try ScriptedUpstream([.streamHead] + lines.map { .chunk($0) } + [.endChunks])
        try await onStage(upstream: upstream.url) { stage in
            let first = Transcript(try stage.chat("app", "x"))
            first.check()
            let location = try #require(first.exchange["Location"])
            let whole = try stage.describe(location).json["message"] as? [String: Any] ?? [:]
            #expect(whole["thinking"] as? String == "Hm hö")
            #expect(whole["content"] as? String == "It")
            #expect((whole["tool_calls"] as? [Any])?.count == 2)
            let events = first.exchange.events.filter { $0.data != nil }
            #expect(events.map { $0.id?.filter { $0 == "." }.count ?? 0 }.max() == 2)
            for event in events.dropLast() {
                let rest = Transcript(try stage.read(location, after: event.id), from: try #require(event.position))
                rest.check()
                #expect(rest.exchange.events.last?.id == events.last?.id)
            }
        }
    }

    @Test func readerJoinsARunningReply() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream.answering("Hello", then: " world", behind: gate)
        try await onStage(upstream: upstream.url) { stage in
            let (client, location) = try stage.begin("app", "x")
            let first = try client.nextDataEvent()
            let late = try stage.follow(location)
            #expect(try late.nextDataEvent().text == "Hello")
            let resumed = try stage.follow(location, after: first.id)
            let document = try stage.describe(location)
            #expect(document.json["state"] as? String == "streaming")
            #expect(document.json["done"] as? Bool == false)
            #expect(document.json["finished_at"] == nil)
            gate.open()
            for reader in [client, late, resumed] {
                let rest = reader.readEvents().filter { $0.data != nil }
                #expect(rest.map(\.text) == [" world", ""])
                #expect(rest.last?.isLast == true && rest.last?.id == "11-end")
                #expect(reader.bodyEnd == .complete)
            }
        }
    }

    @Test func failedReplyIsReadToItsError() async throws {
        let upstream = try ScriptedUpstream([
            .streamHead, .chunk(ModelLine.token("Hel")), .chunk(ModelLine.error("boom")), .endChunks,
        ])
        try await onStage(upstream: upstream.url) { stage in
            let first = Transcript(try stage.chat("app", "x"))
            first.check()
            let location = try #require(first.exchange["Location"])
            let again = Transcript(try stage.read(location))
            again.check()
            #expect(again.outcome == .error("upstream_error"))
            #expect(again.text == "Hel")
            #expect(again.exchange.events.last?.id == "3-end")
            #expect(try stage.read(location, after: "3-end").status == 204)
            let document = try stage.describe(location)
            #expect(document.status == 200)
            #expect(document.json["state"] as? String == "failed")
            #expect(document.json["code"] as? String == "upstream_error")
            #expect(document.json["retryable"] as? Bool == true)
            #expect(document.json["error"] as? String == again.words)
        }
    }

    @Test func replyIsDescribedAsJSON() async throws {
        let upstream = try ScriptedUpstream.answering(["Hel", "lo"])
        try await onStage(upstream: upstream.url) { stage in
            let location = try #require(try stage.chat("app", "x")["Location"])
            let answer = try stage.describe(location)
            #expect(answer.status == 200)
            #expect(answer["Content-Type"] == "application/json")
            let document = answer.json
            #expect(document["id"] as? String == String(location.dropFirst("/replies/".count)))
            #expect(document["model"] as? String == "tiny")
            #expect(document["state"] as? String == "complete")
            #expect(document["attempt"] as? Int == 1)
            #expect(document["done"] as? Bool == true)
            #expect(document["done_reason"] as? String == "stop")
            #expect(document["eval_count"] as? Int == 13)
            let message = document["message"] as? [String: Any] ?? [:]
            #expect(message as? [String: String] == ["role": "assistant", "content": "Hello"])
            let times = [document["created_at"], document["finished_at"]].compactMap { $0 as? String }
            #expect(times.count == 2 && times == times.sorted())
            #expect(
                times.allSatisfy { $0.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/) != nil }, "\(times)")
            // Only a client that accepts JSON and no events gets JSON.
            for accept in ["text/event-stream", "text/event-stream, application/json", "*/*", "text/html"] {
                let events = try stage.send("GET", location, fields: [("Accept", accept)])
                #expect(events["Content-Type"] == "text/event-stream", "\(accept)")
            }
            let weighted = try stage.send("HEAD", location, fields: [("Accept", "text/plain, application/json;q=0.5")])
            #expect(weighted["Content-Type"] == "application/json")
            #expect(weighted.body.isEmpty)
        }
    }

    @Test func replyIsFoundOnlyWithTheRightAppID() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let location = try #require(try stage.chat("my app", "x")["Location"])
            #expect(try stage.send("GET", location + "?appID=my%20app").status == 200)
            #expect(
                try stage.send("GET", location.uppercased().replacing("/REPLIES/", with: "/replies/")).status == 200)
            for (method, path) in [
                ("GET", location + "?appID=other"), ("GET", location + "?appID="),
                ("DELETE", location + "?appID=other"),
                ("POST", location + "/choose?appID=other"), ("POST", location + "/regenerate?appID=other"),
                ("GET", Self.unknown), ("DELETE", Self.unknown), ("POST", Self.unknown + "/choose"),
            ] {
                let answer = try stage.send(method, path)
                #expect(answer.status == 404, "\(method) \(path)")
                #expect(answer.json["code"] as? String == "reply_not_found", "\(method) \(path)")
            }
            #expect(upstream.requests.count == 1)
        }
    }

    @Test func invalidPositionIsRefused() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let location = try #require(try stage.chat("app", "x")["Location"])
            for id in ["x", "-1", "1.", "1.0", "01", "1~1", "1-END", "99999999999999999999", "1 2", "1,2", "é"] {
                let answer = try stage.read(location, after: id)
                #expect(answer.status == 422, "\(id)")
                #expect(answer.json["code"] as? String == "invalid_request", "\(id)")
            }
            // The field counts unless it is empty.
            let both = try stage.send("GET", location + "?last_event_id=5-end", fields: [("Last-Event-ID", "2")])
            #expect(both.status == 200)
            let empty = try stage.send("GET", location + "?last_event_id=5-end", fields: [("Last-Event-ID", "")])
            #expect(empty.status == 204)
        }
    }

    /// Positions without an event: the client gets the reply from there or from its start.
    @Test(arguments: ["5", "6", "400", "3~1", "0.1", "2.0.9", "9-end", "3~5-end"])
    func positionBeyondTheReplyIsAccepted(id: String) async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let location = try #require(try stage.chat("app", "x")["Location"])
            let answer = try stage.read(location, after: id)
            guard answer.status == 200 else {
                #expect(answer.status == 204 && id.hasSuffix("-end"))
                return
            }
            #expect(answer.end == .complete)
            #expect(answer.events.last?.isLast == true)
            let lines = answer.events.drop { $0.name != "reset" }
            if !lines.isEmpty {
                #expect(lines.first?.data?.hasPrefix("{\"reset\":true,\"attempt\":1,\"model\":\"tiny\",") == true)
                #expect(lines.first?.id == "0")
                #expect(lines.map(\.text).joined() == "Hello")
            } else {
                #expect(id == "5")
            }
        }
    }
}
