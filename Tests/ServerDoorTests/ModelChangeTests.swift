import ChatterdConfiguration
import ChatterdTestSupport
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// Ollama's requests that change models, which are passed on for administrators.
@Suite(.timeLimit(.minutes(30))) struct ModelChangeTests {
    private static let progress = [
        #"{"status":"pulling manifest"}"# + "\n", #"{"status":"pulling 6a0746a1ec1a","total":2,"completed":1}"# + "\n",
        #"{"status":"success"}"# + "\n",
    ]
    private static let administration: [Setting: String] = [.adminToken: testAdminToken]

    /// A list of models as Ollama's `/api/tags` has it.
    private static func tags(_ names: [String]) -> [UpstreamStep] {
        .plain(200, "{\"models\":[\(names.map { "{\"name\":\"\($0)\"}" }.joined(separator: ","))]}")
    }

    /// An Ollama with these models that answers every change with success.
    private static func server(_ names: String...) throws -> ScriptedUpstream {
        try ScriptedUpstream(probing: { _ in tags(names) }) { _ in .plain(200, progress[2]) }
    }

    @Test func progressIsStreamedAsItComes() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream { _ in
            [
                .streamHead, .chunk(Self.progress[0]), .wait(for: gate), .chunk(Self.progress[1]),
                .chunk(Self.progress[2]),
            ]
                + [.endChunks]
        }
        try await onStage(upstream: upstream.url, environment: Self.administration) { stage in
            let client = try RawClient(port: stage.port)
            let body = #"{"model":"big:7b","insecure":false}"#
            client.post("/api/pull", json: body, fields: [("Authorization", "Bearer \(testAdminToken)")])
            let head = try client.readHead()
            #expect(head.status == 200 && head["Content-Type"] == "application/x-ndjson")
            #expect(client.nextLine() == Self.progress[0])
            gate.open()
            #expect(client.nextLine() == Self.progress[1])
            #expect(client.nextLine() == Self.progress[2])
            #expect(client.nextLine() == nil)
            let asked = try #require(upstream.requests.last)
            #expect(asked.method == "POST" && asked.path == "/api/pull")
            #expect(String(decoding: asked.body, as: UTF8.self) == body)
            #expect(asked["Authorization"] == nil)
        }
    }

    @Test func clientThatLeavesEndsTheChange() async throws {
        let upstream = try ScriptedUpstream { _ in [.streamHead, .chunk(Self.progress[0]), .stall] }
        try await onStage(upstream: upstream.url, environment: Self.administration) { stage in
            let client = try RawClient(port: stage.port)
            client.post("/api/pull", json: #"{"model":"m"}"#, fields: [("Authorization", "Bearer \(testAdminToken)")])
            _ = try client.readHead()
            #expect(client.nextLine() != nil)
            client.reset()
            try upstream.waitForClose(of: upstream.requests[0])
        }
    }

    @Test func brokenProgressEndsWithAnError() async throws {
        let upstream = try ScriptedUpstream { _ in
            [.streamHead, .chunk(Self.progress[0]), .closeWithoutFinishingChunks]
        }
        try await onStage(upstream: upstream.url, environment: Self.administration) { stage in
            let answer = try stage.call("POST", "/api/pull", #"{"model":"m"}"#, as: testAdminToken)
            #expect(answer.status == 200 && answer.text.contains("{\"error\":\"The connection"), "\(answer.text)")
        }
    }

    @Test(arguments: [
        ("POST", "/api/pull", #"{"name":"tiny","stream":false}"#),
        ("POST", "/api/push", #"{"model":"tiny","stream":false}"#),
        ("POST", "/api/create", #"{"model":"mine","from":"tiny"}"#),
        ("DELETE", "/api/delete", #"{"model":"","name":"tiny"}"#),
        ("POST", "/api/copy", #"{"source":"tiny","destination":"copy"}"#),
    ])
    func changeIsPassedOnAndRecorded(_ method: String, _ path: String, _ body: String) async throws {
        let upstream = try Self.server("tiny:latest")
        try await onStage(upstream: upstream.url, environment: Self.administration) { stage in
            let answer = try stage.call(method, path, body, as: testAdminToken)
            #expect(answer.status == 200 && answer.text == Self.progress[2], "\(answer.text)")
            let asked = try #require(upstream.requests.last)
            #expect(asked.method == method && asked.path == path)
            #expect(String(decoding: asked.body, as: UTF8.self) == body)
            let entries = try stage.call("GET", "/audit", as: testAdminToken).json["entries"] as? [[String: Any]]
            let entry = try #require(entries?.first)
            #expect(entry["actor"] as? String == "admin token")
            let (action, subject) =
                switch path {
                case "/api/pull": ("model_pulled", "tiny")
                case "/api/push": ("model_pushed", "tiny")
                case "/api/create": ("model_created", "mine")
                case "/api/delete": ("model_deleted", "tiny")
                default: ("model_copied", "tiny to copy")
                }
            #expect(entry["action"] as? String == action)
            #expect(entry["subject"] as? String == subject + " on ollama")
        }
    }

    @Test func errorOfTheServerIsPassedOn() async throws {
        let upstream = try ScriptedUpstream { _ in .error(404, "model 'none' not found") }
        try await onStage(upstream: upstream.url, environment: Self.administration) { stage in
            let answer = try stage.call("DELETE", "/api/delete", #"{"model":"none"}"#, as: testAdminToken)
            #expect(answer.status == 404 && answer.json["error"] as? String == "model 'none' not found")
        }
    }

    @Test(arguments: ["open", "keys"]) func othersAreRefused(mode: String) async throws {
        let upstream = try Self.server("tiny:latest")
        let settings: [Setting: String] = [.access: mode, .adminToken: testAdminToken]
        try await onStage(upstream: upstream.url, environment: settings) { stage in
            let key = try stage.makeKey("shop")
            for (method, path) in [("POST", "/api/pull"), ("DELETE", "/api/delete")] {
                let anyone = try stage.call(method, path, #"{"model":"tiny"}"#, as: nil)
                #expect(anyone.status == 401 && anyone.json["error"] is String, "\(anyone.text)")
                let app = try stage.call(method, path, #"{"model":"tiny"}"#, as: key)
                #expect(app.status == 403 && app.json["error"] is String, "\(app.text)")
            }
            #expect(upstream.requests.isEmpty)
            let file = try stage.call("POST", "/api/blobs/sha256:00", "x", as: key)
            #expect(file.status == 400 && file.text.contains("Ollama itself"), "\(file.text)")
            #expect(try stage.call("HEAD", "/api/blobs/sha256:00", as: key).status == 400)
        }
    }

    @Test func serverIsTheOneWithTheModelUnlessTheQueryNamesOne() async throws {
        let one = try Self.server("tiny:latest", "shared:latest")
        let two = try Self.server("other:latest", "shared:latest")
        let list = [
            #"{"name":"one","kind":"ollama","url":"\#(one.url)","models":["tiny","shared"]}"#,
            #"{"name":"two","kind":"ollama","url":"\#(two.url)","models":["other","shared"],"aliases":{"small":"other"}}"#,
        ]
        let settings = Self.administration.merging([.upstreams: "[\(list.joined(separator: ","))]"]) { $1 }
        try await onStage(upstream: "", environment: settings) { stage in
            func change(_ method: String, _ path: String, _ body: String) throws -> HTTPExchange {
                try stage.call(method, path, body, as: testAdminToken)
            }
            func bodies(_ upstream: ScriptedUpstream) -> [String] {
                upstream.requests.map { String(decoding: $0.body, as: UTF8.self) }
            }
            #expect(try change("DELETE", "/api/delete", #"{"model":"other"}"#).status == 200)
            #expect(try change("POST", "/api/pull", #"{"model":"new"}"#).status == 200)
            #expect(try change("POST", "/api/pull?upstream=two", #"{"model":"small"}"#).status == 200)
            #expect(bodies(one) == [#"{"model":"new"}"#])
            #expect(bodies(two) == [#"{"model":"other"}"#, #"{"model":"other"}"#])
            let ambiguous = try change("DELETE", "/api/delete", #"{"model":"shared"}"#)
            #expect(ambiguous.status == 400 && ambiguous.text.contains("one, two"), "\(ambiguous.text)")
            let unknown = try change("POST", "/api/pull?upstream=three", #"{"model":"new"}"#)
            #expect(unknown.status == 404 && unknown.text.contains("three"), "\(unknown.text)")
            #expect(one.requests.count == 1 && two.requests.count == 2)
        }
    }

    @Test(arguments: [
        ("/api/pull", "{}"), ("/api/pull", #"{"model":""}"#), ("/api/pull", #"{"model":"a","Model":"b"}"#),
        ("/api/copy", #"{"source":"a"}"#), ("/api/copy", #"{"source":"a","destination":"b\u0001"}"#), ("/api/pull", ""),
    ])
    func bodyWithoutANameIsRefused(_ path: String, _ body: String) async throws {
        let upstream = try Self.server("a:latest")
        try await onStage(upstream: upstream.url, environment: Self.administration) { stage in
            let answer = try stage.call("POST", path, body, as: testAdminToken)
            #expect(answer.status == 400 && answer.json["error"] is String, "\(answer.text)")
            #expect(upstream.requests.isEmpty)
        }
    }

    @Test func modelOfNoOllamaIsNotFound() async throws {
        let upstreams = #"[{"name":"a","kind":"openai","url":"http://127.0.0.1:9","models":["tiny"]}]"#
        let settings = Self.administration.merging([.upstreams: upstreams]) { $1 }
        try await onStage(upstream: "", environment: settings) { stage in
            let answer = try stage.call("DELETE", "/api/delete", #"{"model":"tiny"}"#, as: testAdminToken)
            #expect(answer.status == 404 && answer.json["error"] as? String == "model 'tiny' not found")
        }
    }

    @Test func listOfModelsIsReadAgain() async throws {
        let names = Monitor(["old:latest"])
        let upstream = try ScriptedUpstream(probing: { _ in Self.tags(names.withLock { $0 }) }) { _ in
            names.withLock { $0.append("new:latest") }
            return .plain(200, Self.progress[2])
        }
        try await onStage(upstream: upstream.url, environment: Self.administration) { stage in
            func listed() throws -> Bool { try stage.send("GET", "/api/tags").text.contains("new:latest") }
            #expect(try !listed())
            #expect(try stage.call("POST", "/api/pull", #"{"model":"new"}"#, as: testAdminToken).status == 200)
            try eventually("every shard asks again") { try listed() }
        }
    }
}
