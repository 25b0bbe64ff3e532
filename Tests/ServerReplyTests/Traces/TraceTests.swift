import ChatterdConfiguration
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServerTestSupport

/// The spans that a collector gets, and the fields that model servers get.
@Suite(.timeLimit(.minutes(30))) struct TraceTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let parent = "00f067aa0ba902b7"
    private static let fields = [("traceparent", "00-\(trace)-\(parent)-01"), ("tracestate", "rojo=1, congo=2")]

    /// A collector that keeps what it gets.
    private struct Collector {
        let server: ScriptedUpstream

        init(_ steps: [UpstreamStep]...) throws {
            server = try ScriptedUpstream { request in
                steps.isEmpty ? .plain(200, "{}") : steps[min(request.number, steps.count - 1)]
            }
        }

        func settings(_ more: [Setting: String] = [:]) -> [Setting: String] {
            [.collector: server.url, .spanDelay: "10", .collectorTimeout: "60000"].merging(more) { $1 }
        }

        /// The spans of each request so far.
        var batches: [[Span]] {
            server.requests.map { request in
                let resources = request.json["resourceSpans"] as? [[String: Any]] ?? []
                let scopes = resources.flatMap { $0["scopeSpans"] as? [[String: Any]] ?? [] }
                return scopes.flatMap { $0["spans"] as? [[String: Any]] ?? [] }.map(Span.init)
            }
        }

        /// All spans so far.
        var spans: [Span] { batches.flatMap(\.self) }

        /// Waits for spans with these names, and returns all.
        func spans(with names: String...) throws -> [Span] {
            try eventually("the collector has \(names)") {
                let spans = spans
                return names.allSatisfy { name in spans.contains { $0.name == name } } ? spans : nil
            }
        }
    }

    /// What a collector answers.
    struct UpstreamAnswer: Sendable {
        let status: Int
        let body: String

        init(_ status: Int, _ body: String) {
            (self.status, self.body) = (status, body)
        }
    }

    private struct Span {
        let trace, id, name: String
        let parent: String?
        let kind: Int
        let start, end: UInt64
        let attributes: [String: String]
        let links: [String]
        let events: [String]
        let isFailed: Bool

        init(_ json: [String: Any]) {
            trace = json["traceId"] as? String ?? ""
            id = json["spanId"] as? String ?? ""
            name = json["name"] as? String ?? ""
            parent = json["parentSpanId"] as? String
            kind = json["kind"] as? Int ?? 0
            start = UInt64(json["startTimeUnixNano"] as? String ?? "") ?? 0
            end = UInt64(json["endTimeUnixNano"] as? String ?? "") ?? 0
            var attributes: [String: String] = [:]
            for attribute in json["attributes"] as? [[String: Any]] ?? [] {
                let value = attribute["value"] as? [String: String]
                attributes[attribute["key"] as? String ?? ""] = value?.values.first
            }
            self.attributes = attributes
            links = (json["links"] as? [[String: Any]] ?? []).map { "\($0["traceId"] ?? "")-\($0["spanId"] ?? "")" }
            events = (json["events"] as? [[String: Any]] ?? []).compactMap { $0["name"] as? String }
            isFailed = (json["status"] as? [String: Any])?["code"] as? Int == 2
        }
    }

    @Test func promptIsATreeOfSpansInTheTraceOfItsRequest() async throws {
        let collector = try Collector()
        let first = try ScriptedUpstream(.error(500, "broken"))
        let second = try ScriptedUpstream.answering(["secret", " answer"])
        let list = severalServers(UpstreamOfList("one", first), UpstreamOfList("two", second))
        try await onStage(environment: collector.settings(list)) { stage in
            let answer = try stage.ask("app", "secret prompt", fields: Self.fields)
            #expect(Transcript(answer).outcome == .done)
            let spans = try collector.spans(with: "POST /llmchat", "reply")
            #expect(spans.allSatisfy { $0.trace == Self.trace })
            #expect(Set(spans.map(\.id)).count == spans.count)
            let request = try #require(spans.first { $0.name == "POST /llmchat" })
            #expect(request.parent == Self.parent && request.kind == 2 && !request.isFailed)
            #expect(request.attributes["http.response.status_code"] == "200")
            #expect(request.attributes["chatterd.request.id"] == answer["X-Request-ID"])
            let reply = try #require(spans.first { $0.name == "reply" })
            #expect(reply.parent == request.id && reply.attributes["chatterd.reply.state"] == "complete")
            #expect(reply.attributes["chatterd.reply.attempts"] == "2")
            let stages = spans.filter { $0.parent == reply.id }
            #expect(stages.map(\.name) == ["admission", "chat tiny", "chat tiny", "store.close"])
            for stage in stages { #expect(reply.start <= stage.start && stage.start <= stage.end) }
            #expect(request.start <= reply.start)
            let requests = stages.filter { $0.name == "chat tiny" }
            #expect(requests.map { $0.attributes["chatterd.upstream"] } == ["one", "two"])
            #expect(requests.map(\.isFailed) == [true, false] && requests.map(\.kind) == [3, 3])
            #expect(requests[0].attributes["error.type"] == "upstream_error" && requests[0].events.isEmpty)
            #expect(requests[1].events == ["first_token"])
            #expect(requests[1].attributes["gen_ai.usage.input_tokens"] == "18")
            #expect(requests[1].attributes["gen_ai.usage.output_tokens"] == "13")
            // Each model server gets the span of its own request, and the state unchanged.
            for (server, span) in zip([first, second], requests) {
                #expect(server.requests.map { $0["traceparent"] } == ["00-\(Self.trace)-\(span.id)-01"])
                #expect(server.requests.map { $0["tracestate"] } == ["rojo=1,congo=2"])
            }
            #expect(!collector.server.requests.contains { String(decoding: $0.body, as: UTF8.self).contains("secret") })
            #expect(collector.server.requests.allSatisfy { $0.path == "/v1/traces" })
        }
    }

    @Test func requestsAtDoorsAndOtherAnswersHaveTraces() async throws {
        let collector = try Collector()
        let upstream = try ScriptedUpstream.answering(["Hi"])
        try await onStage(upstream: upstream.url, environment: collector.settings()) { stage in
            let body = #"{"model":"tiny","messages":[{"role":"user","content":"x"}]}"#
            let door = try RawClient.post(port: stage.port, "/v1/chat/completions", json: body, fields: Self.fields)
            #expect(door.status == 200)
            let first = try stage.ask("app", "x")
            let location = try #require(first["Location"])
            let again = try RawClient.post(port: stage.port, "\(location)/regenerate", json: "{}")
            #expect(Transcript(again).outcome == .done)
            _ = try collector.spans(
                with: "POST /v1/chat/completions", "POST /llmchat", "POST /replies/:id/regenerate")
            let spans = try eventually("there are three replies") {
                let spans = collector.spans
                return spans.filter { $0.name == "reply" }.count == 3 ? spans : nil
            }
            // A request without a trace begins one, and each of another answer has its own.
            let traces = spans.filter { $0.kind == 2 }.map(\.trace)
            #expect(Set(traces).count == 3 && traces.contains(Self.trace))
            for reply in spans where reply.name == "reply" {
                #expect(spans.contains { $0.kind == 2 && $0.id == reply.parent && $0.trace == reply.trace })
            }
            let sent = upstream.requests.compactMap { $0["traceparent"].map { String($0.dropFirst(3).prefix(32)) } }
            #expect(sent == spans.filter { $0.name == "reply" }.map(\.trace))
        }
    }

    @Test func promptThatWaitsForAnEarlierTurnHasASpanOfItsWait() async throws {
        let collector = try Collector()
        let gate = Gate()
        let upstream = try ScriptedUpstream { request in
            request.number == 0
                ? [.streamHead, .wait(for: gate), .chunk(ModelLine.done()), .endChunks] : .answer(["Hi"])
        }
        try await onStage(upstream: upstream.url, environment: collector.settings()) { stage in
            let (first, _) = try stage.begin("app", "x")
            let second = try RawClient(port: stage.port)
            second.post("/llmchat", json: chatBody("app", "y"), fields: Self.fields)
            #expect(try second.readHead().status == 200)
            gate.open()
            _ = (first.readEvents(), second.readEvents())
            let replies = try eventually("both replies have spans") {
                let replies = collector.spans.filter { $0.name == "reply" }
                return replies.count == 2 ? replies : nil
            }
            let waiting = try #require(replies.first { $0.trace == Self.trace })
            #expect(collector.spans.filter { $0.name == "turn.wait" }.map(\.parent) == [waiting.id])
        }
    }

    @Test func requestThatIsNotSampledIsSentOnWithoutSpans() async throws {
        let collector = try Collector()
        let upstream = try ScriptedUpstream.answering(["Hi"])
        try await onStage(upstream: upstream.url, environment: collector.settings()) { stage in
            let quiet = [("traceparent", "00-\(Self.trace)-\(Self.parent)-00")]
            #expect(try stage.ask("app", "x", fields: quiet).status == 200)
            #expect(try stage.ask("app", "x").status == 200)
            let spans = try collector.spans(with: "POST /llmchat", "reply")
            #expect(spans.allSatisfy { $0.trace != Self.trace })
            let sent = try #require(upstream.requests.first?["traceparent"])
            #expect(sent.hasPrefix("00-\(Self.trace)-") && sent.hasSuffix("-00") && !sent.contains(Self.parent))
        }
    }

    @Test(arguments: [
        ("/llmchat", chatBody("app", "x").dropLast() + #","parent":"nonsense"}"#, 422), ("/llmchat", "{", 422),
        ("/llmtools", "[]", 422), ("/v1/chat/completions", "{}", 400), ("/llmprompt", "{}", 422),
    ])
    func refusedRequestHasASpanThatIsNoFailure(path: String, body: String, status: Int) async throws {
        let collector = try Collector()
        try await onStage(environment: collector.settings()) { stage in
            let answer = try RawClient.post(port: stage.port, path, json: body, fields: Self.fields)
            #expect(answer.status == status)
            let spans = try collector.spans(with: "POST \(path)")
            #expect(spans.map(\.name) == ["POST \(path)"] && !spans[0].isFailed)
            #expect(spans[0].trace == Self.trace && spans[0].parent == Self.parent)
            #expect(spans[0].attributes["http.response.status_code"] == "\(status)")
        }
    }

    @Test func modelServerGetsTheSpanOfARequestThatIsPassedOn() async throws {
        let collector = try Collector()
        let upstream = try ScriptedUpstream { _ in .plain(200, #"{"response":"Hi","done":true}"#) }
        try await onStage(upstream: upstream.url, environment: collector.settings()) { stage in
            let body = #"{"model":"tiny","prompt":"x"}"#
            let answer = try RawClient.post(port: stage.port, "/llmprompt", json: body, fields: Self.fields)
            #expect(answer.status == 200)
            let span = try #require(try collector.spans(with: "POST /llmprompt").first)
            #expect(upstream.requests.map { $0["traceparent"] } == ["00-\(Self.trace)-\(span.id)-01"])
            #expect(upstream.requests.map { $0["tracestate"] } == ["rojo=1,congo=2"])
        }
    }

    @Test(arguments: [
        ("/llmprompt", "500"), ("/api/embed", "500"), ("/v1/embeddings", "upstream_error"),
        ("/v1/completions", "upstream_error"),
    ])
    func requestThatIsPassedOnFailsWithItsModelServer(path: String, reason: String) async throws {
        let collector = try Collector()
        let upstream = try ScriptedUpstream(.error(500, "broken"))
        try await onStage(upstream: upstream.url, environment: collector.settings()) { stage in
            let body = #"{"model":"tiny","prompt":"x","input":"x"}"#
            let answer = try RawClient.post(port: stage.port, path, json: body, fields: Self.fields)
            #expect(answer.status >= 500)
            let span = try #require(try collector.spans(with: "POST \(path)").first)
            #expect(span.isFailed && span.attributes["error.type"] == reason)
        }
    }

    @Test func modelServerGetsTheSpanOfARequestForATitle() async throws {
        let collector = try Collector()
        let upstream = try ScriptedUpstream.answering(["Hi"])
        try await onStage(upstream: upstream.url, environment: collector.settings()) { stage in
            let body = #"{"appID":"app","conversation":"c","model":"tiny","messages":[{"role":"user","content":"x"}]}"#
            #expect(try RawClient.post(port: stage.port, "/llmchat", json: body).status == 200)
            let answer = try RawClient.post(
                port: stage.port, "/conversations/c/title?appID=app", json: "{}", fields: Self.fields)
            #expect(answer.status == 200)
            let span = try #require(
                try collector.spans(with: "POST /conversations/:c/title").first { $0.trace == Self.trace })
            #expect(upstream.requests.last?["traceparent"] == "00-\(Self.trace)-\(span.id)-01")
        }
    }

    @Test func replyThatWasStoppedIsNoFailure() async throws {
        let collector = try Collector()
        let upstream = try ScriptedUpstream.stalling(after: "Hello")
        try await onStage(upstream: upstream.url, environment: collector.settings()) { stage in
            let (client, location) = try stage.begin("app", "x")
            #expect(try client.nextDataEvent().text == "Hello")
            #expect(try stage.stop(location).status == 200)
            _ = client.readEvents()
            let spans = try collector.spans(with: "POST /llmchat", "reply", "chat tiny")
            #expect(spans.allSatisfy { !$0.isFailed })
            #expect(spans.first { $0.name == "reply" }?.attributes["chatterd.reply.state"] == "cancelled")
        }
    }

    @Test func failedReplyIsAFailure() async throws {
        let collector = try Collector()
        let upstream = try ScriptedUpstream(.error(500, "broken"))
        let settings = collector.settings([.failoverAttempts: "1"])
        try await onStage(upstream: upstream.url, environment: settings) { stage in
            _ = try stage.ask("app", "x")
            let spans = try collector.spans(with: "POST /llmchat", "reply", "chat tiny")
            for span in spans {
                let isBroken = ["POST /llmchat", "reply", "chat tiny"].contains(span.name)
                #expect(span.isFailed == isBroken, "\(span.name)")
                #expect(span.attributes["error.type"] == (isBroken ? "upstream_error" : nil))
            }
            // The server is asked again after a pause.
            #expect(spans.filter { $0.name == "chat tiny" }.count == 2)
            #expect(spans.filter { $0.name == "retry.wait" }.count == 1)
        }
    }

    @Test func adoptedReplyLinksToTheTraceOfItsPrompt() async throws {
        let collector = try Collector()
        let gate = Gate()
        let upstream = try ScriptedUpstream { request in
            request.number == 0
                ? [
                    .streamHead, .chunk(ModelLine.token("Hello")), .wait(for: gate), .chunk(ModelLine.done()),
                    .endChunks,
                ] : .answer(["again"])
        }
        try await onStage(upstream: upstream.url, environment: collector.settings()) { stage in
            let other = try stage.startAnother()
            defer { #expect(throws: Never.self) { try other.stop() } }
            let client = try RawClient(port: stage.port)
            let body = chatBody("app", "x").dropLast() + #","on_interrupt":"regenerate"}"#
            client.post("/llmchat", json: String(body), fields: Self.fields)
            #expect(try client.readHead().status == 200)
            #expect(try client.nextDataEvent().text == "Hello")
            try stage.cluster.query(
                "UPDATE chatts SET holder = '00000000-0000-0000-0000-000000000000' WHERE state = 'streaming'",
                database: stage.database)
            gate.open()
            _ = client.readEvents()
            let spans = try eventually("both processes have sent their reply") {
                let spans = collector.spans
                let names = spans.map(\.name)
                return names.filter { $0 == "reply" }.count == 2 && names.contains("POST /llmchat") ? spans : nil
            }
            let request = try #require(spans.first { $0.name == "POST /llmchat" })
            let replies = spans.filter { $0.name == "reply" }
            let adopted = try #require(replies.first { $0.trace != Self.trace })
            #expect(adopted.parent == nil && adopted.links == ["\(Self.trace)-\(request.id)"])
            #expect(adopted.attributes["chatterd.reply.state"] == "complete")
            let left = try #require(replies.first { $0.trace == Self.trace })
            #expect(left.attributes["chatterd.reply.state"] == "fenced" && left.isFailed && left.links.isEmpty)
        }
    }

    @Test(arguments: [
        UpstreamAnswer(400, "no"), UpstreamAnswer(500, String(repeating: "x", count: 100_000)),
        UpstreamAnswer(200, #"{"partialSuccess":{"rejectedSpans":"1000","errorMessage":"no"}}"#),
        UpstreamAnswer(200, #"{"partialSuccess":{"rejectedSpans":1000}}"#),
    ])
    func collectorThatRefusesHoldsUpNoRequestAndItsSpansAreCounted(answer: UpstreamAnswer) async throws {
        let collector = try Collector(.plain(answer.status, answer.body))
        let upstream = try ScriptedUpstream.answering(["Hi"])
        let settings = collector.settings([
            .metricsListen: "127.0.0.1:0", .spanQueue: "16", .spanBatch: "16", .spanDelay: "60000",
        ])
        try await onStage(upstream: upstream.url, environment: settings) { stage in
            try Self.ask(stage, untilDropped: 84)
            #expect(try stage.metrics()[#"chatterd_trace_spans_total{outcome="sent"}"#] == 0)
        }
    }

    @Test func spansThatExceedTheQueueAreDropped() async throws {
        let gate = Gate()
        let collector = try Collector([.wait(for: gate)] + .plain(200, "{}"))
        let upstream = try ScriptedUpstream.answering(["Hi"])
        let settings = collector.settings([.metricsListen: "127.0.0.1:0", .spanQueue: "16", .spanBatch: "16"])
        try await onStage(upstream: upstream.url, environment: settings) { stage in
            // Of 100 spans 16 are on their way, and 16 wait.
            try Self.ask(stage, untilDropped: 68)
            gate.open()
        }
    }

    /// Asks twenty prompts, which have 100 spans, and waits until so many were dropped.
    private static func ask(_ stage: Stage, untilDropped count: Int) throws {
        for _ in 0..<20 { #expect(try stage.ask("app", "x").status == 200) }
        try eventually(
            "\(count) spans are dropped",
            isTrue: {
                try stage.metrics()[#"chatterd_trace_spans_total{outcome="dropped"}"#] ?? 0 >= count
            })
    }

    @Test func batchIsSentAgainWhenTheCollectorSaysSo() async throws {
        let collector = try Collector(.plain(503, "later"), .plain(200, "{}"))
        let upstream = try ScriptedUpstream.answering(["Hi"])
        try await onStage(
            upstream: upstream.url, environment: collector.settings([.metricsListen: "127.0.0.1:0"])
        ) { stage in
            #expect(try stage.ask("app", "x").status == 200)
            try eventually(
                "all spans are sent",
                isTrue: {
                    let page = try stage.metrics()
                    return page[#"chatterd_trace_spans_total{outcome="sent"}"#] == 5
                })
            #expect(try stage.metrics()[#"chatterd_trace_spans_total{outcome="dropped"}"#] == 0)
        }
    }

    @Test func partOfABatchWaitsForTheTimerOrTheStop() async throws {
        let collector = try Collector()
        let upstream = try ScriptedUpstream.answering(["Hi"])
        let settings = collector.settings([.spanBatch: "50", .spanDelay: "60000"])
        try await onThread {
            let stage = try Stage(upstream: upstream.url, environment: settings)
            for _ in 0..<22 { #expect(try stage.ask("app", "x").status == 200) }
            _ = try eventually("two batches are sent") { collector.spans.count == 100 ? true : nil }
            try stage.stop()
        }
        #expect(collector.batches.map(\.count) == [50, 50, 10])
    }

    @Test func stopSendsABatchAgainThatTheCollectorDidNotTake() async throws {
        let collector = try Collector(.plain(503, "later"), .plain(200, "{}"))
        let upstream = try ScriptedUpstream.answering(["Hi"])
        try await onThread {
            let stage = try Stage(upstream: upstream.url, environment: collector.settings())
            #expect(try stage.ask("app", "x").status == 200)
            _ = try eventually("the collector is asked") { collector.batches.isEmpty ? nil : true }
            try stage.stop()
        }
        let taken = collector.batches.dropFirst().flatMap(\.self)
        #expect(taken.count == 5 && Set(taken.map(\.id)).count == 5)
    }

    @Test func stopSendsTheSpansThatWait() async throws {
        let collector = try Collector()
        let upstream = try ScriptedUpstream.answering(["Hi"])
        try await onThread {
            let stage = try Stage(upstream: upstream.url, environment: collector.settings([.spanDelay: "60000"]))
            #expect(try stage.ask("app", "x").status == 200)
            try stage.stop()
        }
        #expect(collector.spans.count == 5)
    }

    @Test func withoutACollectorNothingIsTraced() async throws {
        let upstream = try ScriptedUpstream.answering(["Hi"])
        try await onStage(upstream: upstream.url) { stage in
            let answer = try stage.ask("app", "x", fields: Self.fields)
            #expect(answer.status == 200)
            #expect(upstream.requests.allSatisfy { $0["traceparent"] == nil })
            let kept = "SELECT count(*) FROM chatts WHERE options LIKE '%chatterd_trace%'"
            let count = try stage.cluster.query(kept, database: stage.database)
            #expect(count == [["0"]])
        }
    }
}
