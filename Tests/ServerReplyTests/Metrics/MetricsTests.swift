import ChatterdChat
import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgres
import ChatterdPostgresStore
import ChatterdServer
import ChatterdSockets
import ChatterdTestSupport
import Dispatch
import Testing

@testable import ChatterdServerTestSupport

private let withMetrics: [Setting: String] = [.metricsListen: "127.0.0.1:0"]

/// The page of metrics after requests that the test has made.
@Suite(.timeLimit(.minutes(30))) struct MetricsTests {
    @Test func successesAndFailoversAreCountedExactly() async throws {
        let first = try ScriptedUpstream(.error(500, "broken"))
        let second = try ScriptedUpstream.answering(["Hello", " there"])
        let list = severalServers(
            UpstreamOfList("one", first), UpstreamOfList("two", second), adding: withMetrics)
        try await onStage(environment: list) { stage in
            for number in 0..<2 {
                #expect(Transcript(try stage.chat("app-\(number)", "prompt")).outcome == .done)
            }
            let page = try stage.metrics()
            #expect(page.series("chatterd_replies_started_total") == [#"{kind="prompt"}"#: 2])
            #expect(
                page.series("chatterd_replies_ended_total") == [
                    #"{state="complete",code="ok",upstream="two",model="tiny"}"#: 2
                ])
            #expect(
                page.series("chatterd_upstream_requests_total") == [
                    #"{upstream="one",outcome="upstream_error"}"#: 2, #"{upstream="two",outcome="ok"}"#: 2,
                ])
            #expect(
                page.series("chatterd_upstream_failovers_total") == [
                    #"{from="one",to="two",phase="before"}"#: 2
                ])
            // The last line of the scripted model server has these counts.
            #expect(
                page.series("chatterd_tokens_total") == [
                    #"{direction="prompt",upstream="two",model="tiny"}"#: 36,
                    #"{direction="completion",upstream="two",model="tiny"}"#: 26,
                ])
            #expect(page["chatterd_reply_pieces_total"] == 6)
            for name in ["time_to_first_token", "time_per_output_token"] {
                #expect(
                    page.series("chatterd_reply_\(name)_seconds_count") == [#"{upstream="two",model="tiny"}"#: 2])
            }
            for part in ["chatterd", "turn", "queue", "retry", "upstream"] {
                let series = "chatterd_reply_time_to_first_token_part_seconds"
                #expect(page[#"\#(series)_count{part="\#(part)",upstream="two"}"#] == 2)
                #expect(page[#"\#(series)_bucket{part="\#(part)",upstream="two",le="+Inf"}"#] == 2)
            }
            #expect(
                page[#"chatterd_reply_duration_seconds_count{upstream="two",model="tiny",state="complete"}"#] == 2)
            #expect(
                page[#"chatterd_http_requests_total{route="/llmchat",method="POST",status="200",code="ok"}"#] == 2)
            #expect(page[#"chatterd_http_request_duration_seconds_count{route="/llmchat"}"#] == 2)
            #expect(page.series("chatterd_replies").isEmpty)
            #expect(page[#"chatterd_upstream_up{upstream="two"}"#] == 1)
        }
    }

    /// The names and labels of all series of a metric on the page, in its order.
    private func labels(_ name: String, _ page: MetricsPage) -> [String] {
        page.exchange.text.split(separator: "\n").filter { $0.hasPrefix(name + "{") }.map {
            String($0.prefix { $0 != " " }.dropFirst(name.count))
        }
    }

    @Test func seriesOfClosedSetsExistBeforeTheirFirstCount() async throws {
        let upstream = try ScriptedUpstream(.error(500, "broken"))
        let list = severalServers(
            UpstreamOfList("one", upstream), UpstreamOfList("two", upstream),
            adding: withMetrics.merging([.failoverAttempts: "0", .rescueAttempts: "0"]) { $1 })
        try await onStage(environment: list) { stage in
            let page = try stage.metrics()
            let outcomes = (["ok", "cancelled"] + ModelError.Code.allCases.map(\.rawValue)).sorted()
            #expect(
                labels("chatterd_upstream_requests_total", page)
                    == ["ollama", "one", "two"].flatMap { name in
                        outcomes.map { #"{upstream="\#(name)",outcome="\#($0)"}"# }
                    })
            let errors = labels("chatterd_store_errors_total", page)
            for code in PostgresError.Code.allCases {
                #expect(errors.contains { $0.hasPrefix(#"{code="\#(code.rawValue)",sqlstate=""#) }, "\(code)")
            }
            for (code, state) in [
                ("insufficientResources", "53100"), ("insufficientResources", "53300"), ("connectionFailed", "28P01"),
                ("insufficientPrivilege", "42501"), ("undefinedObject", "42P01"), ("overloaded", "none"),
            ] {
                #expect(errors.contains(#"{code="\#(code)",sqlstate="\#(state)"}"#), "\(state)")
            }
            #expect(errors.count < 60 && page.series("chatterd_store_errors_total").isEmpty)
            for purpose in ["prompts", "pages", "process"] {
                #expect(page[#"chatterd_store_batch_seconds_count{purpose="\#(purpose)"}"#] != nil, "\(purpose)")
            }
            // The first failure is a step from 0 and begins no series.
            _ = try stage.chat("app", "prompt")
            let after = try stage.metrics()
            #expect(
                labels("chatterd_upstream_requests_total", after) == labels("chatterd_upstream_requests_total", page))
            #expect(after.series("chatterd_upstream_requests_total").values.reduce(0, +) == 1)
        }
    }

    @Test func failuresAreCountedByTheirKind() async throws {
        let upstream = try ScriptedUpstream(
            .error(401, "no such key"), .error(500, "broken"), .plain(200, "<html></html>", type: "text/html"),
            [.streamHead, .chunk(ModelLine.token("Hel")), .close], .busy(retryAfter: 1), .answer(["Hello"]))
        let list = severalServers(UpstreamOfList("one", upstream), adding: withMetrics).merging(
            [.failoverAttempts: "0", .rescueAttempts: "0"]) { $1 }
        let codes = [
            "upstream_auth", "upstream_error", "upstream_malformed", "upstream_incomplete", "upstream_busy",
        ]
        try await onStage(environment: list) { stage in
            for (number, code) in codes.enumerated() {
                #expect(Transcript(try stage.chat("app-\(number)", "prompt")).outcome == .error(code))
            }
            #expect(Transcript(try stage.chat("app", "prompt")).outcome == .done)
            let page = try stage.metrics()
            let requests =
                codes.map { (#"{upstream="one",outcome="\#($0)"}"#, 1) } + [
                    (#"{upstream="one",outcome="ok"}"#, 1)
                ]
            #expect(
                page.series("chatterd_upstream_requests_total") == Dictionary(uniqueKeysWithValues: requests))
            let ends =
                codes.map { (#"{state="failed",code="\#($0)",upstream="one",model="tiny"}"#, 1) } + [
                    (#"{state="complete",code="ok",upstream="one",model="tiny"}"#, 1)
                ]
            #expect(page.series("chatterd_replies_ended_total") == Dictionary(uniqueKeysWithValues: ends))
            #expect(page.series("chatterd_upstream_failovers_total").isEmpty)
        }
    }

    @Test func countsAreExactUnderLoadFromManyClients() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello", " there"])
        let list = severalServers(
            UpstreamOfList("one", upstream), adding: withMetrics.merging([.shards: "3"]) { $1 })
        try await onStage(environment: list) { stage in
            let clients = 8
            let prompts = 20
            let failures = Monitor(0)
            let group = DispatchGroup()
            for client in 0...clients {
                DispatchQueue.global().async(group: group) {
                    var last = 0
                    for number in 0..<prompts {
                        if client == clients {
                            // Scrapes meanwhile show sums that only grow.
                            let now = (try? stage.metrics())?[#"chatterd_replies_started_total{kind="prompt"}"#] ?? 0
                            if now < last { failures.withLock { $0 += 1 } }
                            last = now
                        } else {
                            let answer = try? stage.chat("app-\(client)-\(number)", "prompt")
                            if answer?.status != 200 { failures.withLock { $0 += 1 } }
                        }
                    }
                }
            }
            group.wait()
            #expect(failures.withLock { $0 } == 0)
            let all = clients * prompts
            let page = try stage.metrics()
            #expect(page[#"chatterd_replies_started_total{kind="prompt"}"#] == all)
            #expect(
                page.series("chatterd_replies_ended_total") == [
                    #"{state="complete",code="ok",upstream="one",model="tiny"}"#: all
                ])
            #expect(page.series("chatterd_upstream_requests_total") == [#"{upstream="one",outcome="ok"}"#: all])
            #expect(
                page[#"chatterd_tokens_total{direction="completion",upstream="one",model="tiny"}"#] == 13 * all)
            #expect(
                page[#"chatterd_http_requests_total{route="/llmchat",method="POST",status="200",code="ok"}"#] == all)
            #expect(page["chatterd_reply_pieces_total"] == 3 * all)
        }
    }

    @Test func noLabelHasATextOfAClient() async throws {
        let upstream = try ScriptedUpstream { request in
            request.number == 0 ? .answer(["Hello"], model: "evil\"model") : .error(400, "evil complaint")
        }
        let list = #"[{"name":"open","kind":"ollama","url":"\#(upstream.url)"}]"#
        try await onStage(environment: withMetrics.merging([.upstreams: list]) { $1 }) { stage in
            for name in ["evil\"app\\{le=\"1\"} 1", "evil\"app\n# EOF\nevil_metric 1\\", "evil"] {
                _ = try stage.chat(name, "evil prompt", model: "evil\"model")
            }
            _ = try stage.send("GET", "/replies/evil")
            _ = try stage.send("GET", "/evil%22path?evil=1")
            _ = try stage.send("EVIL", "/llmchat", fields: [("X-Request-Id", "evil"), ("Evil", "1")])
            _ = try stage.send("GET", "/conversations/evil%0Aname")
            let page = try stage.metrics()
            let text = page.exchange.text
            #expect(!text.lowercased().contains("evil"), "\(text)")
            #expect(
                page[#"chatterd_replies_ended_total{state="complete",code="ok",upstream="open",model="other"}"#] == 1)
            #expect(
                page.series("chatterd_http_requests_total").keys.contains {
                    $0.hasPrefix(#"{route="/llmchat",method="other","#)
                })
            for line in text.split(separator: "\n") where !line.hasPrefix("#") {
                #expect(line.hasPrefix("chatterd_") || line.hasPrefix("process_"))
            }
        }
    }

    @Test func listedModelHasItsNameAfterAScrape() async throws {
        let upstream = try ScriptedUpstream(
            probing: { _ in .plain(200, #"{"models":[{"name":"tiny:latest","model":"tiny:latest"}]}"#) }
        ) { _ in .answer(["Hello"]) }
        try await onStage(upstream: upstream.url, environment: withMetrics) { stage in
            try eventually(
                "the model has a name",
                isTrue: {
                    _ = try stage.chat("app", "prompt")
                    let ends = try stage.metrics().series("chatterd_replies_ended_total")
                    return ends.keys.contains { $0.hasSuffix(#"model="tiny"}"#) }
                })
        }
    }

    @Test func metricsAreOnTheirOwnListenerOnly() async throws {
        try await onStage { stage in
            let answer = try stage.send("GET", "/metrics")
            #expect(answer.status == 404 && stage.application.metricsAddress == nil)
        }
        try await onStage(environment: withMetrics) { stage in
            let answer = try stage.send("GET", "/metrics")
            #expect(answer.status == 404)
            #expect(try stage.askMetrics().status == 200)
            #expect(try stage.askMetrics(method: "POST").status == 405)
            for path in ["/", "/models", "/healthz", "/replies/x", "/page/app.js"] {
                #expect(try stage.askMetrics(path).status == 404)
            }
        }
    }

    @Test func acceptChoosesTheFormat() async throws {
        let plain = "text/plain; version=0.0.4; charset=utf-8"
        let open = "application/openmetrics-text; version=1.0.0; charset=utf-8"
        let cases: [(String?, String)] = [
            (nil, plain), ("*/*", plain), ("text/html", plain), ("application/openmetrics-text", open),
            (
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
                    + "text/plain;version=0.0.4;q=0.4,*/*;q=0.1", open
            ),
            ("application/openmetrics-text;q=0.2, text/plain;q=0.9", plain),
            ("application/openmetrics-text;q=0", plain), ("Application/OpenMetrics-Text ; Q=0.7", open),
        ]
        try await onStage(environment: withMetrics) { stage in
            for (accept, type) in cases {
                let page = try stage.askMetrics(accept: accept)
                #expect(page["Content-Type"] == type, "\(accept ?? "none")")
                #expect(page.text.hasSuffix("# EOF\n") == (type == open))
                #expect(page["Cache-Control"] == "no-store")
            }
        }
    }

    @Test func limitsAndStoreAreShown() async throws {
        let settings: [Setting: String] = [.maximumConnections: "17", .maximumReplies: "5", .shards: "2"]
        try await onStage(environment: withMetrics.merging(settings) { $1 }) { stage in
            let client = try RawClient(port: stage.port)
            client.request("GET", "/healthz")
            _ = try client.readResponse()
            let page = try stage.metrics()
            #expect(page["chatterd_http_connections"] == 1 && page["chatterd_http_connections_limit"] == 17)
            #expect(page["chatterd_replies_limit"] == 5 && page["chatterd_store_writable"] == 1)
            #expect(page.series("chatterd_build_info").count == 1)
            for name in ["process_open_fds", "process_max_fds", "process_resident_memory_bytes"] {
                #expect(page[name] ?? 0 > 0, "\(name)")
            }
            let shards = page.exchange.text.split(separator: "\n").filter {
                $0.hasPrefix("chatterd_event_loop_delay_seconds{")
            }
            #expect(shards.count == 2)
            #expect(page.series("chatterd_store_connections").keys.contains { $0.contains(#"purpose="prompts""#) })
            let limits = page.exchange.text.split(separator: "\n").filter {
                $0.hasPrefix("chatterd_limit_usage_ratio{")
            }
            #expect(limits.contains { $0.hasPrefix(#"chatterd_limit_usage_ratio{limit="connections"} 0.058"#) })
        }
    }

    @Test func runningReplyHasAPhase() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream.answering("Hello", then: " world", behind: gate)
        try await onStage(upstream: upstream.url, environment: withMetrics) { stage in
            let client = try stage.beginChat("app", "prompt")
            #expect(try client.nextDataEvent().text == "Hello")
            let page = try stage.metrics()
            #expect(page.series("chatterd_replies") == [#"{phase="streaming"}"#: 1])
            #expect(page[#"chatterd_readers{kind="reply"}"#] == 1)
            #expect(page[#"chatterd_upstream_running{upstream="ollama"}"#] == 1)
            gate.open()
            _ = client.readEvents()
            #expect(try stage.metrics().series("chatterd_replies").isEmpty)
        }
    }

    @Test func fencedReplyIsCountedAndLogged() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream.answering("Hello", then: " world", behind: gate)
        let file = try LogFile()
        try await onStage(upstream: upstream.url, environment: withMetrics, log: file.log) { stage in
            let client = try stage.beginChat("app", "prompt")
            #expect(try client.nextDataEvent().text == "Hello")
            try stage.cluster.query(
                "UPDATE chatts SET state = 'interrupted', holder = NULL, finished = now() WHERE state = 'streaming'",
                database: stage.database)
            gate.open()
            _ = client.readEvents()
            let page = try stage.metrics()
            #expect(page[#"chatterd_takeovers_total{kind="fenced"}"#] == 1)
            #expect(
                page.series("chatterd_replies_ended_total").keys.allSatisfy { $0.hasPrefix(#"{state="fenced""#) })
            #expect(file.lines.contains { $0.contains(#""msg":"reply fenced""#) })
        }
    }

    @Test func passedRequestIsCounted() async throws {
        let upstream = try ScriptedUpstream(
            .lines([#"{"model":"tiny","response":"Hi","done":true}"# + "\n"]), .error(500, "broken"))
        let list = severalServers(UpstreamOfList("one", upstream), adding: withMetrics)
        try await onStage(environment: list) { stage in
            for _ in 0..<2 {
                _ = try RawClient.post(port: stage.port, "/llmprompt", json: #"{"model":"tiny","prompt":"Hi"}"#)
            }
            #expect(
                try stage.metrics().series("chatterd_upstream_requests_total") == [
                    #"{upstream="one",outcome="ok"}"#: 1, #"{upstream="one",outcome="upstream_error"}"#: 1,
                ])
        }
    }

    @Test func messagesToHooksAreCountedByTheirOutcome() async throws {
        let hook = try ScriptedUpstream { request in
            let isRefused = String(decoding: request.body, as: UTF8.self).contains("no good")
            return .plain(200, isRefused ? #"{"action":"refuse"}"# : "{\"action\":\"allow\"}")
        }
        let entry =
            #"{"name":"rules","url":"\#(hook.url)","on":["prompt","end"],"secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}"#
        let upstream = try ScriptedUpstream.answering(["Hi"])
        try await onStage(
            upstream: upstream.url, environment: [.hooks: "[\(entry)]", .metricsListen: "127.0.0.1:0"]
        ) { stage in
            #expect(try stage.ask("app", "x").status == 200)
            #expect(try stage.ask("app", "no good").status == 403)
            let calls = "chatterd_hook_calls_total"
            let page = try eventually("the end of the reply is delivered") {
                let page = try stage.metrics()
                return page[#"\#(calls){hook="rules",event="end",outcome="delivered"}"#] == 1 ? page : nil
            }
            #expect(page[#"\#(calls){hook="rules",event="prompt",outcome="allowed"}"#] == 1)
            #expect(page[#"\#(calls){hook="rules",event="prompt",outcome="refused"}"#] == 1)
            #expect(page[#"chatterd_hook_call_seconds_count{hook="rules",event="prompt"}"#] == 2)
        }
    }
}
