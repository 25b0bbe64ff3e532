import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// A prompt goes only to servers that are configured for its model.
@Suite(.timeLimit(.minutes(30))) struct ConfiguredModelTests {
    private let cloud: ScriptedUpstream
    private let local: ScriptedUpstream

    init() throws {
        (cloud, local) = (try .answering(["from the cloud"]), try .answering(["local"]))
    }

    /// A list of servers, each an object without its braces.
    private func list(_ entries: String...) -> [Setting: String] {
        [.upstreams: "[\(entries.map { "{\($0)}" }.joined(separator: ","))]"]
    }

    private func entry(_ name: String, _ upstream: ScriptedUpstream, _ more: String) -> String {
        #""name":"\#(name)","kind":"ollama","url":"\#(upstream.url)"\#(more)"#
    }

    /// Starts a program that knows the servers of `CHATTERD_UPSTREAMS` and no others.
    private func onList(
        _ environment: [Setting: String], _ body: @escaping @Sendable (Stage) throws -> Void
    ) async throws {
        // An empty variable counts as not set.
        try await onStage(upstream: "", environment: environment, body)
    }

    @Test func unlistedModelIsRefusedWithAStatusBeforeStoring() async throws {
        let environment = list(
            entry("cloud", cloud, #","models":["gpt-5-mini"]"#), entry("gpu", local, #","models":["qwen3:8b"]"#))
        try await onList(environment) { [cloud, local] stage in
            for stream in [true, false] {
                let refusal = try stage.chat("app", "our secret", model: "gpt-5-nano", stream: stream)
                #expect(refusal.status == 404)
                #expect(refusal.json["code"] as? String == "model_not_found")
                let words = "No model server has the model \"gpt-5-nano\". Did you mean \"gpt-5-mini\"?"
                #expect(refusal.json["error"] as? String == words)
            }
            #expect(try stage.rows("app").isEmpty)
            #expect(cloud.requests.isEmpty && local.requests.isEmpty)
            #expect(Transcript(try stage.chat("app", "hi", model: "qwen3:8b")).text == "local")
        }
    }

    @Test func regenerateWithAnUnlistedModelIsRefused() async throws {
        try await onList(list(entry("gpu", local, #","models":["tiny"]"#))) { [local] stage in
            let first = try stage.chat("app", "hi")
            let path = try #require(first["Location"]) + "/regenerate"
            let refusal = try RawClient.post(port: stage.port, path, json: #"{"model":"tony"}"#)
            #expect(refusal.status == 404)
            #expect((refusal.json["error"] as? String)?.hasSuffix("Did you mean \"tiny\"?") == true)
            #expect(local.requests.count == 1)
            #expect(try stage.rows("app").count == 2)
        }
    }

    @Test func defaultModelThatIsNotListedIsRefused() async throws {
        var environment = list(entry("gpu", local, #","models":["tiny"]"#))
        environment[.defaultModel] = "huge"
        try await onList(environment) { [local] stage in
            let body = #"{"appID":"app","messages":[{"role":"user","content":"hi"}]}"#
            let refusal = try RawClient.post(port: stage.port, "/llmchat", json: body)
            #expect(refusal.status == 404 && refusal.json["code"] as? String == "model_not_found")
            #expect(local.requests.isEmpty)
        }
    }

    /// No entry has `models`. The lists of the servers decide, as in the picker of the page.
    @Test func modelGoesToTheServerThatListsIt() async throws {
        let pulled = Gate()
        func listing(_ name: String, later: String? = nil) throws -> ScriptedUpstream {
            try ScriptedUpstream { request in
                guard request.path == "/api/tags" else { return .plain(200, #"{"models":[]}"#) }
                let names = [name] + (pulled.isOpen ? [later].compactMap { $0 } : [])
                return .plain(200, "{\"models\":[\(names.map { #"{"name":"\#($0)"}"# }.joined(separator: ","))]}")
            } _: { _ in
                .answer([name])
            }
        }
        let (one, two) = (try listing("qwen3:8b"), try listing("llama3.2:latest", later: "phi4:latest"))
        let away = #""name":"away","kind":"ollama","url":"http://127.0.0.1:9""#
        try await onList(list(entry("one", one, ""), away, entry("two", two, ""))) { [one, two] stage in
            for number in 0..<6 {
                for (model, answer) in [("qwen3:8b", "qwen3:8b"), ("llama3.2", "llama3.2:latest")] {
                    let said = Transcript(try stage.chat("\(model) \(number)", "hi", model: model))
                    #expect(said.text == answer)
                }
            }
            #expect(one.requests.count == 6 && two.requests.count == 6)
            let refusal = try stage.chat("typo", "hi", model: "llama3.3")
            #expect(refusal.status == 502 && refusal.json["code"] as? String == "upstream_unavailable")
            #expect(refusal.json["retryable"] as? Bool == true)
            let words = refusal.json["error"] as? String ?? ""
            #expect(words.contains("Did you mean \"llama3.2\"") && words.contains("\"away\" cannot be reached"))
            // A door refuses it too.
            let body = #"{"model":"llama3.3","messages":[{"role":"user","content":"hi"}]}"#
            #expect(try RawClient.post(port: stage.port, "/v1/chat/completions", json: body).status == 502)
            #expect(one.requests.count == 6 && two.requests.count == 6)
            // A model that was pulled just now is found.
            #expect(try stage.chat("new", "hi", model: "phi4").status == 502)
            pulled.open()
            let found = try eventually("the new model is found") { () -> HTTPExchange? in
                let answer = try stage.chat("new", "hi", model: "phi4")
                return answer.status == 200 ? answer : nil
            }
            #expect(Transcript(found).text == "llama3.2:latest")
        }
    }

    @Test func modelOfAServerWithoutItsKeyGoesToNoOtherServer() async throws {
        let environment = list(
            entry("cloud", cloud, #","key":"sesame-of-the-cloud","models":["gpt-5-mini"]"#),
            entry("any", local, ""),
            entry("private", local, #","key_env":"PRIVATE_KEY","models":["in-house"],"aliases":{"ours":"in-house"}"#))
        try await onList(environment) { [cloud, local] stage in
            for model in ["in-house", "ours", "private/in-house"] {
                let refusal = try stage.chat("app", "our secret", model: model)
                #expect(refusal.status == 502)
                #expect(refusal.json["code"] as? String == "upstream_unavailable")
                let words =
                    "The model server for \"\(model)\" is not set up: its key cannot be found. "
                    + "Its operator must correct that."
                #expect(refusal.json["error"] as? String == words)
            }
            #expect(try stage.rows("app").isEmpty)
            #expect(cloud.requests.isEmpty && local.requests.isEmpty)
            // The server without a list accepts all names that no server lists.
            #expect(Transcript(try stage.chat("app", "hi", model: "anything")).text == "local")
        }
    }

    @Test func modelsOfARowWithMistakesStayItsOwn() async throws {
        try await onStage(upstream: local.url, environment: [.adminToken: "an-admin-token-of-the-tests"]) {
            [local] stage in
            let row = #"{"name":"gpu","kind":"of-a-newer-version","url":"http://h","models":["in-house"]}"#
            try stage.cluster.query(
                "INSERT INTO chatterd_upstreams VALUES ('gpu', '\(row)', 'api', 1, nextval('chatterd_revisions'))",
                database: stage.database)
            let refusal = try eventually("the row is seen") {
                let answer = try stage.chat("\(UInt64.random(in: 0 ... .max))", "hi", model: "in-house")
                return answer.status == 502 ? answer : nil
            }
            #expect(refusal.json["code"] as? String == "upstream_unavailable")
            #expect((refusal.json["error"] as? String)?.contains("its description has mistakes") == true)
            let before = local.requests.count
            #expect(try stage.chat("app", "hi", model: "in-house").status == 502)
            #expect(local.requests.count == before)
        }
    }

    @Test func builtInModelDoesNotAnswerForOthers() async throws {
        try await onList(list(#""name":"parrot","kind":"echo""#).merging([.echo: "1"]) { $1 }) { stage in
            let refusal = try stage.chat("app", "hi", model: "llama3.2")
            #expect(refusal.status == 404 && refusal.json["code"] as? String == "model_not_found")
            for model in ["echo", "echo/anything", "parrot"] {
                #expect(Transcript(try stage.chat(model, "hi", model: model)).outcome == .done)
            }
        }
    }

    @Test func keyThatIsKnownGetsItsReplyAfterTheModelIsGone() async throws {
        let token = "an-admin-token-of-the-tests"
        var environment = list(entry("gpu", local, #","models":["tiny"]"#))
        environment[.adminToken] = token
        try await onList(environment) { stage in
            let fields = [("Idempotency-Key", "k")]
            let first = Transcript(try stage.ask("app", "hi", fields: fields))
            #expect(first.text == "local")
            let removal = try stage.send(
                "DELETE", "/upstreams/gpu", fields: [("Authorization", "Bearer \(token)")])
            #expect(removal.status == 200)
            #expect(Transcript(try stage.ask("app", "hi", fields: fields)).text == "local")
            #expect(try stage.ask("app", "hi").status == 404)
        }
    }
}
