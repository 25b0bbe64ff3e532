import ChatterdConfiguration
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// `/v1/responses` over a real database.
@Suite(.timeLimit(.minutes(30))) struct ResponseTests {
    static let path = "/v1/responses"
    static let identity = [("X-App-ID", "shop"), ("X-Conversation-ID", "trip")]

    private func ask(
        _ stage: Stage, _ members: String, fields: [(String, String)] = identity
    ) throws -> HTTPExchange {
        try RawClient.post(port: stage.port, Self.path, json: "{\"model\":\"tiny\",\(members)}", fields: fields)
    }

    private func get(_ stage: Stage, _ path: String, fields: [(String, String)] = identity) throws -> HTTPExchange {
        try stage.send("GET", "\(Self.path)/\(path)", fields: fields)
    }

    private func text(_ response: [String: Any]) -> String {
        let items = response["output"] as? [[String: Any]] ?? []
        let parts = items.filter { $0["type"] as? String == "message" }.flatMap {
            $0["content"] as? [[String: Any]] ?? []
        }
        return parts.map { $0["text"] as? String ?? "" }.joined()
    }

    /// The events of a stream, as JSON.
    private func events(_ text: String) -> [String] {
        text.components(separatedBy: "\n\n").compactMap { event in
            event.firstRange(of: "\ndata: ").map { String(event[$0.upperBound...]) }
        }
    }

    /// A model that answers each prompt with its number.
    private func counting() throws -> ScriptedUpstream {
        try ScriptedUpstream { request in .answer(["answer ", "\(request.number)"]) }
    }

    @Test func responseIsRetrievedAsItWasAnswered() async throws {
        let upstream = try counting()
        let schemas = try SpecificationSchemas.openResponses()
        try await onStage(upstream: upstream.url) { stage in
            let answer = try ask(
                stage, #""input":"Hi","instructions":"Be brief.","metadata":{"a":"b"},"temperature":0.5"#)
            #expect(answer.status == 200 && answer["X-Conversation-ID"] == "trip", "\(answer.text)")
            #expect(schemas.problems(of: answer.text, as: "ResponseResource").isEmpty)
            let id = try #require(answer.json["id"] as? String)
            let retrieved = try get(stage, id)
            #expect(retrieved.text == answer.text)
            #expect(text(answer.json) == "answer 0" && answer.json["instructions"] as? String == "Be brief.")
            #expect(upstream.requests.last?.messages == [["system", "Be brief."], ["user", "Hi"]])
            let unknown = try get(stage, "resp_00000000-0000-4000-8000-000000000000")
            #expect(
                unknown.status == 404
                    && (unknown.json["error"] as? [String: Any])?["code"] as? String == "reply_not_found")
            // Another app's response is unknown.
            #expect(try get(stage, id, fields: [("X-App-ID", "other")]).status == 404)
        }
    }

    /// An imported file may have any numbers.
    @Test func responseOfAnImportedReplyHasNoImpossibleCounts() async throws {
        let upstream = try counting()
        let time = "2026-11-20T17:07:20.859441Z"
        try await onStage(upstream: upstream.url) { stage in
            for (index, number) in PeerNumber.all.enumerated() {
                let end = #""done":true,"prompt_eval_count":\#(number.text),"eval_count":\#(number.text)"#
                let file = [
                    #"{"chatterd":"conversation","version":1,"conversation":"R","created_at":"\#(time)"}"#,
                    #"{"seq":1,"kind":"prompt","turn":2,"role":"user","content":"Hi","time":"\#(time)"}"#,
                    #"{"seq":2,"kind":"reply","id":"9a3c1f52-6a0e-8c43-a1ce-6f0be9c7d3f1","model":"echo","state":"complete","role":"assistant","content":"You","time":"\#(time)","finished_at":"\#(time)","last_event":{"model":"echo","message":{"role":"assistant","content":""},\#(end)}}"#,
                    #"{"end":true,"rows":2}"#,
                ].joined(separator: "\n")
                let path = "/conversations/evil\(index)"
                let imported = try RawClient.post(port: stage.port, "\(path)/import?appID=shop", json: file)
                #expect(imported.status == 201, "\(imported.text)")
                let page = try stage.send("GET", "\(path)?appID=shop")
                let reply = try #require((page.json["messages"] as? [[String: Any]])?.last)
                #expect(reply["eval_count"] as? Int == number.count)
                let id = try #require(reply["id"] as? String)
                let usage = try get(stage, "resp_\(id)").json["usage"] as? [String: Any]
                #expect(usage?["total_tokens"] as? Int == number.count.map { 2 * $0 }, "\(number)")
            }
        }
    }

    @Test func instructionsCountForOneRequestOnly() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            let first = try ask(stage, #""input":"one","instructions":"Be brief.""#)
            let id = try #require(first.json["id"] as? String)
            _ = try ask(stage, #""input":"two","instructions":"Be long.","previous_response_id":"\#(id)""#)
            let history = [["user", "one"], ["assistant", "answer 0"], ["user", "two"]]
            #expect(upstream.requests.last?.messages == [["system", "Be long."]] + history)
            #expect(try stage.rows("shop\u{1F}\u{1F}trip").map(\.role) == ["user", "assistant", "user", "assistant"])
        }
    }

    @Test func retrievedStreamHasTheSameEvents() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello ", "wörld"])
        try await onStage(upstream: upstream.url) { stage in
            let stream = try ask(stage, #""input":"Hi","stream":true"#)
            let live = events(stream.text)
            let final = try #require(live.last)
            let response = try #require(
                (try JSONSerialization.jsonObject(with: Data(final.utf8)) as? [String: Any])?["response"]
                    as? [String: Any])
            let id = try #require(response["id"] as? String)
            let again = events(try get(stage, id + "?stream=true").text)
            // The pieces of the text may differ.
            func others(_ events: [String]) -> [String] { events.filter { !$0.contains(".delta\"") } }
            #expect(others(live) == others(again))
            let last = try #require(live.dropLast().last)
            let number = try #require(
                last.firstRange(of: "\"sequence_number\":").map { last[$0.upperBound...].prefix { $0.isNumber } })
            #expect(events(try get(stage, id + "?stream=true&starting_after=\(number)").text) == [final])
            #expect(try get(stage, id + "?stream=true&starting_after=x").status == 400)
            #expect(try get(stage, id + "?stream=perhaps").status == 400)
        }
    }

    @Test func earlierResponseIsContinuedOnABranch() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            let first = try #require(try ask(stage, #""input":"one""#).json["id"] as? String)
            _ = try ask(stage, #""input":"two","previous_response_id":"\#(first)""#)
            let other = try ask(stage, #""input":"other","previous_response_id":"\#(first)""#)
            #expect(other.json["previous_response_id"] as? String == first)
            let start = [["user", "one"], ["assistant", "answer 0"]]
            #expect(upstream.requests.last?.messages == start + [["user", "other"]])
            // A native reply is a response.
            let answer = try stage.ask("shop", "native", adding: #","conversation":"trip""#)
            let native = String(try #require(answer["Location"]).dropFirst("/replies/".count))
            _ = try ask(stage, #""input":"last","previous_response_id":"resp_\#(native)""#)
            #expect(
                upstream.requests.last?.messages.last == ["user", "last"] && upstream.requests.last?.messages.count == 7
            )
            #expect(try get(stage, native).json["object"] as? String == "response")
        }
    }

    @Test func conversationIsContinuedByItsName() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            let app = [("X-App-ID", "shop")]
            for text in ["one", "one"] {
                let answer = try ask(stage, #""input":"\#(text)","conversation":"Rome""#, fields: app)
                #expect((answer.json["conversation"] as? [String: Any])?["id"] as? String == "Rome")
            }
            #expect(upstream.requests.last?.messages.count == 3)
            #expect(try ask(stage, #""input":"a","conversation":"Rome""#, fields: []).status == 400)
        }
    }

    @Test func responseThatIsNotStoredLeavesNothing() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            let first = try #require(try ask(stage, #""input":"one""#).json["id"] as? String)
            let second = try ask(stage, #""input":"two","store":false,"previous_response_id":"\#(first)""#)
            #expect(second.status == 200 && second.json["store"] as? Bool == false, "\(second.text)")
            #expect(
                upstream.requests.last?.messages == [["user", "one"], ["assistant", "answer 0"], ["user", "two"]])
            #expect(try stage.rows("shop\u{1F}\u{1F}trip").count == 2)
            let id = try #require(second.json["id"] as? String)
            let stored = try ask(stage, #""input":"three","previous_response_id":"\#(id)""#)
            #expect(stored.status == 400 && stored.text.contains("not stored"))
            #expect(
                try stage.send("DELETE", "\(Self.path)/\(id)", fields: Self.identity).json["deleted"] as? Bool == true)
            #expect(try get(stage, id).status == 404)
        }
    }

    @Test func statelessResponsesFollowEachOther() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            let first = try #require(try ask(stage, #""input":"one""#, fields: []).json["id"] as? String)
            let second = try ask(stage, #""input":"two","previous_response_id":"\#(first)""#, fields: [])
            #expect(second.status == 200 && second["X-Conversation-ID"] == nil)
            #expect(
                upstream.requests.last?.messages == [["user", "one"], ["assistant", "answer 0"], ["user", "two"]])
        }
    }

    @Test func backgroundResponseRunsWithoutItsClient() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream { _ in
            [.streamHead, .chunk(ModelLine.token("Hello")), .wait(for: gate)]
                + [UpstreamStep].answer([" you"]).dropFirst()
        }
        try await onStage(upstream: upstream.url) { stage in
            let answer = try ask(stage, #""input":"Hi","background":true"#)
            #expect(answer.json["status"] as? String == "queued" && answer.json["background"] as? Bool == true)
            let id = try #require(answer.json["id"] as? String)
            let running = try eventually("the response has text") {
                let running = try get(stage, id).json
                return text(running) == "Hello" ? running : nil
            }
            #expect(running["status"] as? String == "in_progress")
            gate.open()
            let ended = try eventually("the response ends") {
                let ended = try get(stage, id).json
                return ended["status"] as? String == "completed" ? ended : nil
            }
            #expect(text(ended) == "Hello you")
        }
    }

    @Test func repeatedBackgroundRequestGetsTheSameFields() async throws {
        let upstream = try ScriptedUpstream { _ in [UpstreamStep].answer(["Hello"]) }
        try await onStage(upstream: upstream.url) { stage in
            let fields = Self.identity + [("Idempotency-Key", "one")]
            let answers = try (0..<2).map { _ in
                try ask(stage, #""input":"Hi","background":true"#, fields: fields)
            }
            #expect(answers[0].json["id"] as? String == answers[1].json["id"] as? String)
            for name in ["Location", "X-Conversation-ID"] {
                #expect(answers[0][name] != nil && answers[0][name] == answers[1][name], "\(name)")
            }
        }
    }

    @Test func anyResponseIsCancelled() async throws {
        let upstream = try ScriptedUpstream.stalling(after: "Hello")
        try await onStage(upstream: upstream.url) { stage in
            let client = try RawClient(port: stage.port)
            client.post(Self.path, json: #"{"model":"tiny","input":"Hi","stream":true}"#, fields: Self.identity)
            let location = try #require(try client.readHead()["Location"])
            let id = "resp_" + location.dropFirst("/replies/".count)
            _ = try eventually("the response has text") { text(try get(stage, id).json) == "Hello" ? true : nil }
            let cancelled = try stage.send("POST", "\(Self.path)/\(id)/cancel", fields: Self.identity)
            #expect(
                cancelled.json["status"] as? String == "cancelled" && text(cancelled.json) == "Hello",
                "\(cancelled.text)")
            let stream = events(String(decoding: client.readBody(), as: UTF8.self))
            #expect(
                stream.last?.contains(#""type":"response.incomplete""#) == true
                    && stream.last?.contains(#""status":"cancelled""#) == true)
            // Again: nothing happens.
            #expect(try stage.send("POST", "\(Self.path)/\(id)/cancel", fields: Self.identity).text == cancelled.text)
            // Nothing can follow it.
            #expect(try ask(stage, #""input":"two","previous_response_id":"\#(id)""#).status == 409)
        }
    }

    @Test func onlyTheLastResponseOfABranchIsDeleted() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            let first = try #require(try ask(stage, #""input":"one""#).json["id"] as? String)
            let second = try #require(
                try ask(stage, #""input":"two","previous_response_id":"\#(first)""#).json["id"] as? String)
            let branch = try #require(
                try ask(stage, #""input":"other","previous_response_id":"\#(first)""#).json["id"] as? String)
            func delete(_ id: String) throws -> Int {
                try stage.send("DELETE", "\(Self.path)/\(id)", fields: Self.identity).status
            }
            #expect(try delete(first) == 409)
            #expect(try delete(second) == 200 && get(stage, second).status == 404 && delete(second) == 404)
            #expect(try delete(first) == 409)
            #expect(try delete(branch) == 200)
            _ = try ask(stage, #""input":"three","previous_response_id":"\#(first)""#)
            #expect(
                upstream.requests.last?.messages == [["user", "one"], ["assistant", "answer 0"], ["user", "three"]])
            let texts = try stage.rows("shop\u{1F}\u{1F}trip").map(\.text)
            #expect(texts == ["one", "answer 0", "three", "answer 3"])
        }
    }

    @Test func inputIsListedInPages() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            let items =
                #"[{"role":"system","content":"s"},{"role":"user","content":"one"},{"role":"user","content":"two"}]"#
            let id = try #require(try ask(stage, #""input":\#(items)"#).json["id"] as? String)
            let page = try get(stage, id + "/input_items?limit=2").json
            let data = try #require(page["data"] as? [[String: Any]])
            #expect(page["has_more"] as? Bool == true && data.map { $0["role"] as? String } == ["user", "user"])
            let last = try #require(page["last_id"] as? String)
            let rest = try get(stage, id + "/input_items?limit=2&after=\(last)").json
            #expect(
                rest["has_more"] as? Bool == false
                    && (rest["data"] as? [[String: Any]])?.first?["role"] as? String == "system")
            #expect(try get(stage, id + "/input_items?limit=0").status == 400)
            #expect(try get(stage, id + "/input_items?after=x").status == 400)
        }
    }

    @Test func failureBeforeTheAnswerHasItsStatusAndItsEvent() async throws {
        let upstream = try ScriptedUpstream { _ in .error(500, "out of memory") }
        try await onStage(upstream: upstream.url) { stage in
            #expect(try ask(stage, #""input":"Hi""#).status == 502)
            let stream = try ask(stage, #""input":"Hi","stream":true"#)
            #expect(stream.status == 200 && events(stream.text).last?.contains(#""type":"response.failed""#) == true)
        }
    }
}
