import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// `/llmprompt` goes to servers that are configured for its model, and has the limits of all prompts.
@Suite(.timeLimit(.minutes(30))) struct PassThroughTests {
    private static let line = "{\"model\":\"tiny\",\"response\":\"x\",\"done\":true}\n"
    private static let good = [UpstreamStep].plain(200, line, type: "application/x-ndjson")

    private func list(_ entries: String...) -> [Setting: String] {
        [.upstreams: "[\(entries.map { "{\($0)}" }.joined(separator: ","))]"]
    }

    private func entry(_ upstream: ScriptedUpstream, _ more: String, name: String = "gpu") -> String {
        #""name":"\#(name)","kind":"ollama","url":"\#(upstream.url)","models":["tiny"]\#(more)"#
    }

    @Test func modelChoosesTheServer() async throws {
        let (one, two) = (try ScriptedUpstream { _ in Self.good }, try ScriptedUpstream { _ in Self.good })
        let environment = list(
            #""name":"one","kind":"ollama","url":"\#(one.url)","models":["other"]"#,
            entry(two, #","aliases":{"small \"s\"":"tiny"}"#, name: "two"),
            #""name":"vllm","kind":"openai","url":"http://127.0.0.1:9","models":["qwen3"]"#,
            #""name":"locked","kind":"ollama","url":"\#(one.url)","key_env":"ABSENT_KEY","models":["in-house"]"#)
        try await onStage(upstream: "", environment: environment) { stage in
            for (body, sent) in [
                (#"{"model":"tiny","prompt":"Hi"}"#, #"{"model":"tiny","prompt":"Hi"}"#),
                (
                    #"{"prompt":"Hi", "model" : "small \"s\"" ,"raw":true}"#,
                    #"{"prompt":"Hi", "model" : "tiny" ,"raw":true}"#
                ),
                (#"{"model":"two/tiny"}"#, #"{"model":"tiny"}"#),
            ] {
                #expect(try RawClient.post(port: stage.port, "/llmprompt", json: body).text == Self.line)
                #expect(String(decoding: two.requests.last?.body ?? [], as: UTF8.self) == sent)
            }
            for (model, status, code) in [
                ("nobody-has-it", 404, "model_not_found"), ("qwen3", 404, "model_not_found"),
                ("in-house", 502, "upstream_unavailable"),
            ] {
                let refusal = try RawClient.post(port: stage.port, "/llmprompt", json: "{\"model\":\"\(model)\"}")
                #expect(refusal.status == status && refusal.json["code"] as? String == code, "\(refusal.text)")
            }
            #expect(one.requests.isEmpty && two.requests.count == 3)
        }
    }

    @Test(arguments: [
        "", "[]", "{", #"{"prompt":"Hi"}"#, #"{"model":""}"#, #"{"model":null}"#, #"{"model":7}"#,
        #"{"Model":"tiny"}"#, #"{"model":"tiny","MODEL":"other"}"#, #"{"model":"tiny","mod\u0065l":"other"}"#,
        #"{"model":"tiny"} x"#,
    ])
    func bodyThatCouldAskForAnotherModelIsRefused(_ body: String) async throws {
        let upstream = try ScriptedUpstream { _ in Self.good }
        try await onStage(upstream: upstream.url) { stage in
            let refusal = try RawClient.post(port: stage.port, "/llmprompt", json: body)
            #expect(refusal.status == 422 && refusal.json["code"] as? String == "invalid_request", "\(refusal.text)")
            #expect(upstream.requests.isEmpty)
        }
    }

    @Test func requestWaitsForASlot() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream { _ in [.wait(for: gate)] + Self.good }
        try await onStage(upstream: "", environment: list(entry(upstream, #","slots":1,"queue_limit":1"#))) { stage in
            let clients = try (0..<2).map { number in
                let client = try RawClient(port: stage.port)
                client.post("/llmprompt", json: #"{"model":"tiny"}"#)
                try eventually("its ticket is in the queue") {
                    try stage.cluster.query("SELECT count(*) FROM chatterd_queue", database: stage.database)
                        == [["\(number + 1)"]]
                }
                // Until the process knows that the ticket of the first one is stored, it may count it twice, and refuse the second one.
                if number == 0 { try upstream.waitForRequests(1) }
                return client
            }
            let full = try RawClient.post(port: stage.port, "/llmprompt", json: #"{"model":"tiny"}"#)
            #expect(full.status == 503 && full.json["code"] as? String == "overloaded")
            #expect(upstream.requests.count == 1)
            gate.open()
            for client in clients {
                #expect(try client.readResponse(of: "POST").text == Self.line)
            }
            try eventually("the slots are free") {
                try stage.cluster.query("SELECT count(*) FROM chatterd_queue", database: stage.database) == [["0"]]
            }
        }
    }

    @Test func clientThatLeavesTheQueueLeavesNoTicket() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream { _ in [.wait(for: gate)] + Self.good }
        try await onStage(upstream: "", environment: list(entry(upstream, #","slots":1"#))) { stage in
            let count = {
                try stage.cluster.query("SELECT count(*) FROM chatterd_queue", database: stage.database)[0][0]
            }
            let first = try RawClient(port: stage.port)
            first.post("/llmprompt", json: #"{"model":"tiny"}"#)
            try eventually("it has the slot") { try count() == "1" }
            let second = try RawClient(port: stage.port)
            second.post("/llmprompt", json: #"{"model":"tiny"}"#)
            try eventually("it waits") { try count() == "2" }
            second.reset()
            try eventually("it no longer waits") { try count() == "1" }
            gate.open()
            #expect(try first.readResponse(of: "POST").text == Self.line)
            #expect(upstream.requests.count == 1)
        }
    }

    @Test func requestCountsAsAReply() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream { _ in [.wait(for: gate)] + Self.good }
        try await onStage(upstream: upstream.url, environment: [.maximumReplies: "1"]) { stage in
            let first = try RawClient(port: stage.port)
            first.post("/llmprompt", json: #"{"model":"tiny"}"#)
            try upstream.waitForRequests(1)
            for refused in [
                try RawClient.post(port: stage.port, "/llmprompt", json: #"{"model":"tiny"}"#),
                try stage.chat("app", "hi"),
            ] {
                #expect(refused.status == 503 && refused.json["code"] as? String == "overloaded")
            }
            gate.open()
            #expect(try first.readResponse(of: "POST").text == Self.line)
            try eventually("the slot is free again") {
                try RawClient.post(port: stage.port, "/llmprompt", json: #"{"model":"tiny"}"#).status == 200
            }
        }
    }

    @Test func keyOfTheModelServerIsNotPassedOn() async throws {
        let long = "wrong key sesame-of-the-cloud " + String(repeating: "x", count: 100_000)
        let upstream = try ScriptedUpstream(.plain(401, long, type: "text/html"))
        try await onStage(
            upstream: "", environment: list(entry(upstream, #","key":"sesame-of-the-cloud""#))
        ) { stage in
            let answer = try RawClient.post(port: stage.port, "/llmprompt", json: #"{"model":"tiny"}"#)
            #expect(answer.status == 401)
            #expect(upstream.requests[0]["Authorization"] == "Bearer sesame-of-the-cloud")
            #expect(answer.text.hasPrefix("wrong key … xxx"))
            #expect(answer.body.count <= 16 << 10 && answer.end == .complete)
            #expect(answer["X-Content-Type-Options"] == "nosniff")
            #expect(answer["Content-Type"] == "application/octet-stream")
        }
    }

    @Test(arguments: [
        (
            #"{"error":{"message":"bad grammar\n  File \"/srv/engine/grammar.py\", line 7, in parse","trace":"/srv/engine/main.py"}}"#,
            #"{"error":"bad grammar\n  …"}"# + "\n"
        ),
        ("cannot open /srv/engine/models/tiny.gguf: no such file", "cannot open …: no such file"),
        (#"{"error":"see /v1/models"}"#, #"{"error":"see /v1/models"}"#),
    ])
    func internalsOfTheModelServerAreNotPassedOn(said: String, passed: String) async throws {
        let upstream = try ScriptedUpstream(.plain(500, said))
        try await onStage(upstream: upstream.url) { stage in
            let answer = try RawClient.post(port: stage.port, "/llmprompt", json: #"{"model":"tiny"}"#)
            #expect(answer.status == 500 && answer.text == passed)
        }
    }

    @Test func answerHasALimit() async throws {
        let line = "{\"response\":\"\(String(repeating: "x", count: 900))\",\"done\":false}\n"
        let upstream = try ScriptedUpstream { _ in
            [.streamHead] + (0..<30).map { _ in UpstreamStep.chunk(line) } + [.stall]
        }
        try await onStage(upstream: upstream.url, environment: [.answerLimit: "4KiB"]) { stage in
            let answer = try RawClient.post(port: stage.port, "/llmprompt", json: #"{"model":"tiny"}"#)
            #expect(answer.status == 200 && answer["X-Content-Type-Options"] == "nosniff")
            #expect(answer.text.contains("{\"error\":\"The answer grew beyond 4096 bytes, and was ended.\"}"))
            #expect(answer.body.count < 8_192)
            try upstream.waitForClose(of: upstream.requests[0])
        }
    }
}
