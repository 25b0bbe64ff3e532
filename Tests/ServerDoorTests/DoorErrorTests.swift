import ChatterdBasics
import ChatterdConfiguration
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdTestSupport
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// Errors on the paths of doors, before and behind the route.
@Suite(.timeLimit(.minutes(30))) struct DoorErrorTests {
    /// The message of an error in the form of a path.
    private func message(_ answer: HTTPExchange, at path: String) -> String? {
        let error = answer.json["error"]
        if path.hasPrefix("/api") { return error as? String }
        guard let object = error as? [String: Any], object["type"] is String else { return nil }
        if path.hasPrefix("/v1/messages") {
            guard answer.json["type"] as? String == "error" else { return nil }
        } else {
            guard object["code"] is String, object.keys.contains("param") else { return nil }
        }
        return object["message"] as? String
    }

    private static let paths = ["/v1/chat/completions", "/api/chat", "/api/generate", "/v1/messages"]

    @Test(arguments: paths)
    func refusalBeforeTheRouteHasTheFormOfTheDoor(_ path: String) async throws {
        try await onStage(environment: [.bodyLimit: "4096"]) { stage in
            let missing = try stage.send("GET", path + "/none")
            #expect(missing.status == 404 && message(missing, at: path) != nil, "\(missing.text)")
            let method = try stage.send("DELETE", path)
            #expect(
                method.status == 405 && message(method, at: path) != nil && method["Allow"]?.contains("POST") == true)
            let large = try RawClient.post(port: stage.port, path, json: String(repeating: " ", count: 5000))
            #expect(large.status == 413, "\(large.text)")
            let hint = message(large, at: path)
            #expect(hint?.contains("4KiB are accepted (CHATTERD_BODY_LIMIT)") == true, "\(large.text)")
            if path == "/v1/messages" { #expect(large.text.contains(#""type":"request_too_large""#)) }
            let page = try RawClient.post(
                port: stage.port, path, json: "{}", fields: [("Origin", "https://foreign.example")])
            #expect(page.status == 403 && message(page, at: path) != nil, "\(page.text)")
        }
    }

    /// docs/limits.md names this budget.
    @Test func bodyOfTheLargestSizeNeedsABudgetOf214MiB() throws {
        let size = Limits().body.body
        for (budget, isEnough) in [(213, false), (214, true)] {
            let memory = try #require(MemoryBudget(limit: budget << 20).reserve(size, for: .body))
            #expect(memory.grow(to: ChatRoute.copies * size, for: .history) == isEnough, "\(budget) MiB")
        }
    }

    @Test(arguments: [(Door.ollama, 503), (.openAI, 503), (.anthropic, 529)])
    func refusalBeforeTheRouteHasTheStatusOfTheDoor(_ door: Door, _ status: Int) {
        let refusal = Refusal(.serviceUnavailable, code: "overloaded", message: "No.")
        #expect(door.answer(to: refusal).status.code == status)
    }

    @Test(arguments: paths)
    func refusalOfARequestHasTheFormOfTheDoor(_ path: String) async throws {
        try await onStage { stage in
            for body in ["", "{", "[]", #"{"model":7}"#] {
                let answer = try RawClient.post(port: stage.port, path, json: body)
                #expect(answer.status == 400 && message(answer, at: path) != nil, "\(answer.text)")
            }
        }
    }

    @Test(arguments: paths)
    func unknownModelIsNotFound(_ path: String) async throws {
        let upstreams = #"[{"name":"a","kind":"ollama","url":"http://127.0.0.1:9","models":["tiny"]}]"#
        try await onStage(upstream: "", environment: [.upstreams: upstreams]) { stage in
            let prompt = #""max_tokens":1,"messages":[{"role":"user","content":"Hi"}]"#
            let body = #"{"model":"none",\#(path == "/api/generate" ? #""prompt":"Hi""# : prompt)}"#
            let answer = try RawClient.post(port: stage.port, path, json: body)
            #expect(answer.status == 404)
            let message = message(answer, at: path)
            #expect(path.hasPrefix("/api") ? message == "model 'none' not found" : message?.contains("none") == true)
        }
    }

    @Test(arguments: paths)
    func requestWithoutACredentialIsRefusedInTheFormOfTheDoor(_ path: String) async throws {
        try await onStage(environment: withKeys) { stage in
            for credential in [nil, "chatterd_key_wrong"] {
                let answer = try stage.call("POST", path, "{}", as: credential)
                #expect(answer.status == 401 && message(answer, at: path) != nil, "\(answer.text)")
            }
        }
    }

    @Test func modelThatIsMissingIsNamed() async throws {
        try await onStage { stage in
            let answer = try RawClient.post(
                port: stage.port, "/api/chat", json: #"{"messages":[{"role":"user","content":"Hi"}]}"#)
            #expect(answer.status == 400 && answer.json["error"] as? String == "model is required")
        }
    }

    @Test func anthropicsClientGetsItsFormOnEveryPath() async throws {
        try await onStage { stage in
            let answer = try stage.send("GET", "/v1/models/none", fields: [("anthropic-version", "2023-06-01")])
            #expect(answer.status == 404 && answer.json["type"] as? String == "error")
        }
    }

    @Test(arguments: ["/v1/v1/chat/completions", "/v1/v1/models", "/v1/v1/none", "/v1/v1/messages"])
    func baseURLWithItsEndTwiceIsExplained(_ path: String) async throws {
        try await onStage { stage in
            for answer in [try RawClient.post(port: stage.port, path, json: "{}"), try stage.send("GET", path)] {
                #expect(answer.status == 404)
                #expect(message(answer, at: path)?.contains("base URL ends with /v1 twice") == true, "\(answer.text)")
            }
            let claude = try stage.send("GET", path, fields: [("anthropic-version", "2023-06-01")])
            #expect(claude.status == 404 && claude.json["type"] as? String == "error")
        }
    }

    @Test func ownPathsKeepTheirForm() async throws {
        try await onStage { stage in
            let answer = try stage.send("GET", "/none")
            #expect(answer.json["code"] as? String == "not_found" && answer.json["error"] is String)
        }
    }
}
