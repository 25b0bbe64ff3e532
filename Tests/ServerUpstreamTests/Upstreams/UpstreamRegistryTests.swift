import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdModelServers
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServerTestSupport

private let token = "an-admin-token-of-the-tests"
private let admin: [Setting: String] = [.adminToken: token]

extension Stage {
    /// Sends a request of the administrator.
    fileprivate func manage(
        _ method: String, _ path: String, _ json: String? = nil, token given: String? = token
    ) throws -> HTTPExchange {
        let client = try RawClient(port: port)
        defer { client.close() }
        let fields = given.map { [("Authorization", "Bearer \($0)")] } ?? []
        client.request(method, path, fields: fields, body: json.map { Array($0.utf8) })
        return try client.readResponse(of: method)
    }

    /// The names and origins of all model servers.
    fileprivate func upstreams() throws -> [String] {
        let list = try manage("GET", "/upstreams").json["upstreams"] as? [[String: Any]] ?? []
        return list.map { "\($0["name"] ?? "") \($0["origin"] ?? "")" }
    }

    /// The health of a model server in this process.
    fileprivate func health(of name: String) throws -> String {
        let list = try send("GET", "/models").json["upstreams"] as? [[String: Any]] ?? []
        return list.first { $0["name"] as? String == name }?["health"] as? String ?? "none"
    }

    /// The answer of a model to a prompt; the code of the error if there is no answer.
    fileprivate func answer(_ model: String) throws -> String {
        let transcript = Transcript(try chat(UUID().uuidString, "prompt", model: model))
        return transcript.outcome == .done ? transcript.text : "\(transcript.outcome)"
    }
}

private func definition(_ name: String, _ upstream: ScriptedUpstream, more: String = "") -> String {
    #"{"name":"\#(name)","kind":"ollama","url":"\#(upstream.url)","models":["\#(name)-model"]\#(more)}"#
}

/// The list of model servers, by requests.
@Suite(.timeLimit(.minutes(30))) struct UpstreamRegistryTests {
    @Test(arguments: [
        ("GET", "/upstreams"), ("POST", "/upstreams"), ("GET", "/upstreams/ollama"), ("PUT", "/upstreams/ollama"),
        ("DELETE", "/upstreams/ollama"), ("POST", "/upstreams/ollama/test"),
    ])
    func listNeedsAnAdminToken(_ method: String, _ path: String) async throws {
        try await onStage { stage in
            for token in [token, nil] {
                let answer = try stage.manage(method, path, "{}", token: token)
                #expect(answer.status == 401)
            }
        }
    }

    @Test(arguments: [nil, "", "an-admin-token-of-the-test", "an-admin-token-of-the-testt"])
    func wrongTokenIsRefused(_ wrong: String?) async throws {
        try await onStage(environment: admin) { stage in
            for (method, path) in [
                ("GET", "/upstreams"), ("POST", "/upstreams"), ("GET", "/upstreams/ollama"),
                ("PUT", "/upstreams/ollama"), ("DELETE", "/upstreams/ollama"), ("POST", "/upstreams/ollama/test"),
            ] {
                let refusal = try stage.manage(method, path, "{}", token: wrong)
                #expect(refusal.status == 401)
                #expect(refusal["WWW-Authenticate"] == "Bearer")
                #expect(refusal.json["code"] as? String == "unauthorized")
            }
            #expect(try stage.upstreams() == ["ollama environment"])
        }
    }

    @Test func modelServerIsAddedShownReplacedAndRemoved() async throws {
        let (one, two) = (try ScriptedUpstream.answering(["one"]), try ScriptedUpstream.answering(["two"]))
        try await onStage(environment: admin) { stage in
            let added = try stage.manage("POST", "/upstreams", definition("gpu", one, more: #","key_env":"NOT_SET""#))
            #expect(added.status == 422, "\(added.text)")
            #expect((added.json["problems"] as? [String])?.count == 1)

            let body = definition("gpu", one, more: #","aliases":{"quick":"gpu-model"},"slots":2"#)
            let created = try stage.manage("POST", "/upstreams", body)
            #expect(created.status == 201)
            #expect(created["Location"] == "/upstreams/gpu")
            #expect(created.json["slots"] as? Int == 2)
            #expect(try stage.answer("gpu-model") == "one")
            #expect(try stage.answer("quick") == "one")
            #expect(try stage.answer("gpu/gpu-model") == "one")
            #expect(try stage.manage("GET", "/upstreams/gpu").json["origin"] as? String == "api")
            #expect(try stage.upstreams() == ["ollama environment", "gpu api"])

            let again = try stage.manage("POST", "/upstreams", definition("gpu", two))
            #expect(again.status == 409)
            #expect(again.json["code"] as? String == "upstream_exists")
            #expect(try stage.answer("gpu-model") == "one")

            #expect(try stage.manage("PUT", "/upstreams/gpu", definition("gpu", two)).status == 200)
            #expect(try stage.answer("gpu-model") == "two")
            #expect(try stage.manage("PUT", "/upstreams/gpu", definition("other", two)).status == 422)
            #expect(try stage.manage("PUT", "/upstreams/none", definition("none", two)).status == 404)

            #expect(try stage.manage("DELETE", "/upstreams/gpu").status == 200)
            #expect(try stage.manage("GET", "/upstreams/gpu").status == 404)
            let gone = try stage.manage("DELETE", "/upstreams/gpu")
            #expect(gone.status == 404)
            #expect(gone.json["code"] as? String == "upstream_not_found")
            #expect(try stage.answer("gpu-model").contains("upstream_unavailable"), "only the absent Ollama is left")
        }
    }

    @Test func nameIsOptionalWhereThePathHasIt() async throws {
        let upstream = try ScriptedUpstream.answering(["here"])
        try await onStage(environment: admin) { stage in
            let body = #"{"kind":"ollama","url":"\#(upstream.url)"}"#
            let refusal = try stage.manage("POST", "/upstreams", body)
            #expect(refusal.status == 422)
            for (method, path) in [("POST", "/upstreams"), ("PUT", "/upstreams/ollama")] {
                let words = try stage.manage(method, path, "").json["error"] as? String
                #expect(words?.hasPrefix("The body is empty. Send JSON such as {") == true)
            }
            #expect(try stage.manage("PUT", "/upstreams/ollama", body).status == 200)
            #expect(try stage.upstreams() == ["ollama api"])
            #expect(try stage.answer("any") == "here")
        }
    }

    @Test(arguments: ["[]", "{", #"{"name":"gpu","kind":"ollama"}"#, #"{"name":"echo","kind":"echo"}"#])
    func definitionWithProblemsIsRefusedAndNotStored(_ body: String) async throws {
        try await onStage(environment: admin) { stage in
            let refusal = try stage.manage("POST", "/upstreams", body)
            #expect(refusal.status == 422)
            #expect(refusal.json["code"] as? String == "invalid_request")
            #expect((refusal.json["problems"] as? [String])?.count == 1, "\(refusal.text)")
            #expect(try stage.upstreams() == ["ollama environment"])
        }
    }

    @Test func changeReachesOtherProcessesWithoutARestart() async throws {
        let (one, two) = (try ScriptedUpstream.answering(["one"]), try ScriptedUpstream.answering(["two"]))
        try await onStage(environment: admin) { stage in
            let other = try stage.startAnother()
            defer { try? other.stop() }
            #expect(try stage.manage("POST", "/upstreams", definition("gpu", one)).status == 201)
            try eventually("the other process knows it") { try other.manage("GET", "/upstreams/gpu").status == 200 }
            #expect(try other.answer("gpu-model") == "one")

            #expect(try other.manage("PUT", "/upstreams/gpu", definition("gpu", two)).status == 200)
            try eventually("the first process knows the change") { try stage.answer("gpu-model") == "two" }

            #expect(try other.manage("DELETE", "/upstreams/gpu").status == 200)
            try eventually("the first process has released it") {
                try stage.manage("GET", "/upstreams/gpu").status == 404
            }
        }
    }

    @Test func replacedModelServerIsNotCoolingDown() async throws {
        let upstream = try ScriptedUpstream.answering(["here"])
        let wrong = #"{"name":"gpu","kind":"ollama","url":"http://127.0.0.1:9","models":["gpu-model"]}"#
        try await onStage(environment: admin) { stage in
            let other = try stage.startAnother()
            defer { try? other.stop() }
            #expect(try stage.manage("POST", "/upstreams", wrong).status == 201)
            try eventually("the other process knows it") { try other.manage("GET", "/upstreams/gpu").status == 200 }
            for process in [stage, other] {
                #expect(try process.answer("gpu-model").contains("upstream_unavailable"))
                #expect(try process.health(of: "gpu") == "cooling_down")
            }
            // A replacement by the same description counts, too.
            for body in [wrong, definition("gpu", upstream)] {
                #expect(try stage.manage("PUT", "/upstreams/gpu", body).status == 200)
                #expect(try stage.health(of: "gpu") == "unknown")
                try eventually("the other process knows the change") { try other.health(of: "gpu") == "unknown" }
                for process in [stage, other] {
                    #expect(try process.answer("gpu-model") == "here" || body == wrong)
                }
            }
        }
    }

    @Test func restartWithAnotherEnvironmentReplacesOnlyItsEntries() async throws {
        let (one, two) = (try ScriptedUpstream.answering(["one"]), try ScriptedUpstream.answering(["two"]))
        try await onThread {
            let list = "[\(definition("gpu", one)),\(definition("cpu", one))]"
            var environment = admin
            environment[.upstreams] = list
            let first = try Stage(upstream: one.url, environment: environment)
            #expect(try first.upstreams() == ["ollama environment", "gpu environment", "cpu environment"])
            #expect(try first.manage("PUT", "/upstreams/cpu", definition("cpu", one)).status == 200)
            #expect(try first.manage("POST", "/upstreams", definition("own", one)).status == 201)
            try first.stop()

            environment[.upstreams] = "[\(definition("new", two)),\(definition("cpu", two))]"
            let second = try first.startAnother(upstream: two.url, environment: environment)
            defer { try? second.stop() }
            #expect(try second.upstreams() == ["ollama environment", "new environment", "cpu api", "own api"])
            #expect(try second.answer("anything") == "two")
            #expect(try second.answer("cpu-model") == "one", "servers added through the API stay")
        }
    }

    @Test func keyIsFoundByReferenceAndNeverStoredOrShown() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        let directory = NSTemporaryDirectory() + "chatterd-keys-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await onThread {
            var environment = admin
            environment[.keyDirectory] = directory
            environment[.upstreams] = "[\(definition("given", upstream, more: #","key":"sesame-given""#))]"
            let stage = try Stage(environment: environment, variables: ["GPU_API_KEY": "sesame-variable"])
            defer { try? stage.stop() }
            let named = definition("named", upstream, more: #","key_env":"GPU_API_KEY""#)
            #expect(try stage.manage("POST", "/upstreams", named).status == 201)
            let filed = definition("filed", upstream, more: #","key_file":"\#(directory)/key""#)
            let added = try stage.manage("POST", "/upstreams", filed)
            #expect(added.status == 201)
            #expect((added.json["problem"] as? String)?.contains("cannot be read: No such file") == true)
            let trial = try stage.manage("POST", "/upstreams/filed/test")
            #expect(trial.json["ok"] as? Bool == false && trial.text.contains("cannot be read"))

            try Data("sesame-file\n".utf8).write(to: URL(fileURLWithPath: directory + "/key"))
            try eventually("the file is read") { try stage.manage("GET", "/upstreams/filed").json["problem"] == nil }
            for name in ["given", "named", "filed"] {
                #expect(try stage.answer("\(name)-model") == "ok")
            }
            #expect(
                upstream.requests.map { $0["Authorization"] }
                    == ["Bearer sesame-given", "Bearer sesame-variable", "Bearer sesame-file"])

            let shown = try stage.manage("GET", "/upstreams").text + stage.send("GET", "/models").text
            #expect(!shown.contains("sesame") && shown.contains(#""key":"set""#))
            let rows = try stage.cluster.query("SELECT definition FROM chatterd_upstreams", database: stage.database)
            #expect(rows.count == 4)
            #expect(!"\(rows)".contains("sesame"))
        }
    }

    @Test func processWithoutTheKeyLeavesTheServerOut() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onThread {
            var environment = admin
            environment[.upstreams] = "[\(definition("gpu", upstream, more: #","key":"sesame""#))]"
            let other = try Stage(environment: admin)
            defer { try? other.stop() }
            let first = try Stage(environment: environment, cluster: other.cluster, database: other.database)
            defer { try? first.stop() }
            try eventually("the other process has read it") {
                try other.manage("GET", "/upstreams/gpu").status == 200
            }
            let problem = try other.manage("GET", "/upstreams/gpu").json["problem"] as? String
            #expect(problem == "its key stands in another process's CHATTERD_UPSTREAMS only")
            #expect(try first.answer("gpu-model") == "ok")
        }
    }

    @Test func invalidRowsAreLeftOut() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url, environment: admin) { stage in
            let rows = [
                ("broken", "{"), ("strange", #"{"name":"strange","kind":"smoke","url":"http://h"}"#),
                ("path", #"{"name":"path","kind":"ollama","url":"http://h","key_env":"PATH"}"#),
                ("passwd", #"{"name":"passwd","kind":"ollama","url":"http://h","key_file":"/etc/passwd"}"#),
                ("renamed", #"{"name":"other","kind":"ollama","url":"http://h"}"#),
            ]
            let values = rows.map { "('\($0.0)', '\($0.1)', 'api', 1, nextval('chatterd_revisions'))" }
            try stage.cluster.query(
                "INSERT INTO chatterd_upstreams VALUES \(values.joined(separator: ", "))", database: stage.database)
            try eventually("the rows are seen") { try stage.upstreams().count == 6 }
            for (name, _) in rows {
                let entry = try stage.manage("GET", "/upstreams/\(name)")
                #expect(entry.json["problem"] is String, "\(entry.text)")
            }
            #expect(try stage.answer("tiny") == "ok")
        }
    }

    @Test func keyInARowIsNotShown() async throws {
        try await onStage(environment: admin) { stage in
            let row = #"{"name":"gpu","kind":"ollama","url":"http://h","key":"sesame", "slots":2 } "#
            try stage.cluster.query(
                """
                INSERT INTO chatterd_upstreams
                VALUES ('gpu', '\(row)', 'environment', 1, nextval('chatterd_revisions'))
                """, database: stage.database)
            try eventually("the row is seen") { try stage.upstreams().count == 2 }
            let entry = try stage.manage("GET", "/upstreams/gpu")
            #expect(entry.json["key"] as? String == "set" && entry.json["slots"] as? Int == 2, "\(entry.text)")
            #expect(entry.json["problem"] is String)
            #expect(!"\(entry.text)\(try stage.manage("GET", "/upstreams").text)".contains("sesame"))
        }
    }

    @Test func changeOfOneModelServerKeepsTheConnectionsOfTheOthers() async throws {
        // The end of the body comes with the last line: until then its connection cannot be used again.
        let answer = ModelLine.token("one") + ModelLine.done()
        let one = try ScriptedUpstream(.plain(200, answer, type: "application/x-ndjson"))
        let two = try ScriptedUpstream.answering(["two"])
        try await onStage(upstream: one.url, environment: admin.merging([.shards: "1"]) { $1 }) { stage in
            #expect(try stage.answer("tiny") == "one")
            let added = try stage.manage("POST", "/upstreams", definition("gpu", two))
            #expect(added.status == 201)
            #expect(try stage.answer("tiny") == "one")
            #expect(one.requests.map(\.connection) == [0, 0])
            let changed = #"{"kind":"ollama","url":"\#(one.url)","headers":{"x-team":"blue"}}"#
            #expect(try stage.manage("PUT", "/upstreams/ollama", changed).status == 200)
            #expect(try stage.answer("tiny") == "one")
            #expect(one.requests.last?.connection == 1)
            #expect(one.requests.last?["X-Team"] == "blue")
        }
    }

    @Test func promptWithoutAModelGetsTheDefault() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        let body = #"{"appID":"me","messages":[{"role":"user","content":"hi"}]}"#
        try await onStage(upstream: upstream.url, environment: [.defaultModel: "tiny"]) { stage in
            let transcript = Transcript(try RawClient.post(port: stage.port, "/llmchat", json: body))
            #expect(transcript.outcome == .done)
            #expect(upstream.requests.last?.json["model"] as? String == "tiny")
        }
        try await onStage(upstream: upstream.url) { stage in
            let refusal = try RawClient.post(port: stage.port, "/llmchat", json: body)
            #expect(refusal.status == 422)
        }
    }

    @Test func modelsAreListedWithTheirServersAndWithoutAddresses() async throws {
        let list = #"""
            [{"name":"parrot","kind":"echo","models":["polly"],"aliases":{"bird":"polly"},"context":4096},
             {"name":"locked","kind":"ollama","url":"http://127.0.0.1:9","key_env":"ABSENT_KEY"}]
            """#
        try await onStage(environment: [.upstreams: list, .echo: "1"]) { stage in
            let answer = try stage.send("GET", "/models")
            #expect(answer.status == 200)
            let models = answer.json["models"] as? [[String: Any]] ?? []
            #expect(models.map { $0["name"] as? String } == ["polly", "bird"] + EchoVariant.allCases.map(\.modelName))
            #expect(models.first?["upstream"] as? String == "parrot")
            #expect(models.first?["upstreams"] as? [String] == ["parrot"])
            #expect(models.first?["context"] as? Int == 4_096)
            let upstreams = answer.json["upstreams"] as? [[String: Any]] ?? []
            #expect(upstreams.map { $0["name"] as? String } == ["ollama", "parrot", "locked", "echo"])
            #expect(upstreams.map { $0["reachable"] as? Bool } == [false, true, false, true])
            #expect(upstreams[1]["health"] as? String == "unknown", "it has not been asked for a reply yet")
            #expect(upstreams[0]["health"] as? String == "unknown" && upstreams[2]["health"] == nil)
            #expect(upstreams[0]["problem"] != nil && upstreams[2]["problem"] != nil)
            #expect(!answer.text.contains("127.0.0.1") && !answer.text.contains("ABSENT_KEY"))
            #expect(try stage.answer("polly").contains("echo"))
            #expect(try stage.health(of: "parrot") == "healthy")
        }
    }

    @Test func testAsksForTheModelsAndForAToken() async throws {
        let list = #"[{"name":"parrot","kind":"echo","models":["polly"]}]"#
        try await onStage(environment: admin.merging([.upstreams: list]) { $1 }) { stage in
            let trial = try stage.manage("POST", "/upstreams/parrot/test")
            #expect(trial.status == 200)
            #expect(trial.json["ok"] as? Bool == true, "\(trial.text)")
            #expect(trial.json["models"] as? [String] == EchoVariant.allCases.map(\.modelName))
            #expect(trial.json["model"] as? String == "polly")
            #expect(trial.json["reply"] as? String == "I ", "the first word, and no more")
            let named = try stage.manage("POST", "/upstreams/parrot/test", #"{"model":"bird"}"#)
            #expect(named.json["model"] as? String == "bird")
            let absent = try stage.manage("POST", "/upstreams/ollama/test")
            #expect(absent.status == 200 && absent.json["ok"] as? Bool == false)
            #expect(absent.json["problem"] is String)
            #expect(try stage.manage("POST", "/upstreams/none/test").status == 404)
            #expect(try stage.manage("POST", "/upstreams/parrot/test", "[]").status == 422)
        }
    }
}
