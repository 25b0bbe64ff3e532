import ChatterdConfiguration
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdDialects
@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// The models, the version and the passed-on paths of the doors.
@Suite(.timeLimit(.minutes(30))) struct DoorModelTests {
    private static let tags = [UpstreamStep].plain(
        200, #"{"models":[{"name":"tiny:latest","capabilities":["completion"]},{"name":"big:7b"}]}"#)

    @Test func modelsAreInTheFormOfEachDoor() async throws {
        let upstream = try ScriptedUpstream(probing: { _ in Self.tags }) { _ in [] }
        try await onStage(upstream: upstream.url) { stage in
            func names(
                _ path: String, _ list: String, _ member: String, _ fields: [(String, String)] = []
            ) throws -> [String] {
                let models = try stage.send("GET", path, fields: fields).json[list] as? [[String: Any]]
                return models?.compactMap { $0[member] as? String } ?? []
            }
            let tags = try names("/api/tags", "models", "name")
            #expect(tags == ["tiny:latest", "big:7b"])
            #expect(try names("/v1/models", "data", "id") == ["tiny:latest", "big:7b"])
            let version = [("anthropic-version", "2023-06-01")]
            #expect(try names("/v1/models", "data", "display_name", version) == ["tiny:latest", "big:7b"])
            #expect(try stage.send("GET", "/v1/models/tiny").json["id"] as? String == "tiny:latest")
            #expect(try stage.send("GET", "/v1/models/none").status == 404)
            #expect(try names("/api/ps", "models", "name").isEmpty)
        }
    }

    @Test func listOfOllamaHasItsOwnValues() async throws {
        let details =
            #"{"parent_model":"/srv/blobs/1","format":"gguf","family":"llama","families":["llama","clip"],"parameter_size":"8.0B","quantization_level":"Q4_K_M"}"#
        let long = String(repeating: "x", count: 200)
        let upstream = try ScriptedUpstream(probing: { _ in
            .plain(
                200,
                #"{"models":[{"name":"tiny:latest","model":"tiny:latest","modified_at":"2026-03-01T10:00:00.5+01:00","size":4920753328,"digest":"46e0c10c","details":\#(details)},{"name":"odd","digest":"d","modified_at":"\#(long)","size":-1,"details":[]}]}"#
            )
        }) { _ in [] }
        try await onStage(upstream: upstream.url) { stage in
            let models = try #require(try stage.send("GET", "/api/tags").json["models"] as? [[String: Any]])
            #expect(models[0]["modified_at"] as? String == "2026-03-01T10:00:00.5+01:00")
            #expect(models[0]["size"] as? Int == 4_920_753_328 && models[0]["digest"] as? String == "46e0c10c")
            let shown = try #require(models[0]["details"] as? [String: Any])
            #expect(shown["families"] as? [String] == ["llama", "clip"] && shown["parent_model"] as? String == "")
            #expect(shown["family"] as? String == "llama" && shown["format"] as? String == "gguf")
            #expect(shown["parameter_size"] as? String == "8.0B" && shown["quantization_level"] as? String == "Q4_K_M")
            #expect(models[1]["modified_at"] as? String == "1970-01-01T00:00:00Z" && models[1]["size"] as? Int == 0)
        }
    }

    @Test func modelIsShownAsItsOllamaDescribesIt() async throws {
        let upstream = try ScriptedUpstream(probing: { _ in Self.tags }) { _ in
            .plain(200, #"{"capabilities":["completion","vision"],"license":"MIT"}"#)
        }
        try await onStage(upstream: upstream.url) { stage in
            for body in [#"{"model":"tiny"}"#, #"{"model":"","name":"tiny:latest","verbose":true}"#] {
                let answer = try RawClient.post(port: stage.port, "/api/show", json: body)
                #expect(answer.json["license"] as? String == "MIT", "\(answer.text)")
                #expect(upstream.requests.last?.path == "/api/show")
                #expect(String(decoding: upstream.requests.last?.body ?? [], as: UTF8.self) == body)
            }
            let missing = try RawClient.post(port: stage.port, "/api/show", json: #"{"model":"none"}"#)
            #expect(missing.status == 404 && upstream.requests.count == 2)
        }
    }

    @Test func modelOfAnotherKindIsShown() async throws {
        let upstream = try ScriptedUpstream(probing: { _ in
            .plain(200, #"{"data":[{"id":"tiny","max_model_len":4096}]}"#)
        }) { _ in [] }
        let upstreams = #"[{"name":"a","kind":"openai","url":"\#(upstream.url)/v1"}]"#
        try await onStage(upstream: "", environment: [.upstreams: upstreams]) { stage in
            for body in [#"{"model":"tiny"}"#, #"{"name":"tiny","verbose":true}"#] {
                let answer = try RawClient.post(port: stage.port, "/api/show", json: body)
                #expect(answer.json["capabilities"] as? [String] == ["completion", "tools"], "\(answer.text)")
                let info = try #require(answer.json["model_info"] as? [String: Any])
                #expect(info["general.architecture"] as? String == "unknown" && info.count == 2)
                #expect(info["unknown.context_length"] as? Int == 4_096)
            }
            let described = try stage.send("GET", "/v1/models/tiny").json
            #expect(described["context_length"] as? Int == 4_096 && described["max_model_len"] as? Int == 4_096)
            let missing = try RawClient.post(port: stage.port, "/api/show", json: #"{"model":"none"}"#)
            #expect(missing.status == 404 && missing.json["error"] as? String == "model 'none' not found")
        }
    }

    @Test func modelMayBeNamedWithItsServerAndHaveSlashes() async throws {
        let upstream = try ScriptedUpstream(probing: { _ in
            .plain(200, #"{"data":[{"id":"tiny"},{"id":"hf.co/a/b"}]}"#)
        }) { _ in [] }
        let upstreams = #"[{"name":"gpu","kind":"openai","url":"\#(upstream.url)/v1"}]"#
        try await onStage(upstream: "", environment: [.upstreams: upstreams]) { stage in
            for name in ["gpu/tiny", "hf.co/a/b", "hf.co%2Fa%2Fb", "gpu/hf.co/a/b"] {
                let found = try stage.send("GET", "/v1/models/\(name)")
                #expect(found.status == 200, "\(found.text)")
                #expect(found.json["id"] as? String == name.replacingOccurrences(of: "%2F", with: "/"))
            }
            let shown = try RawClient.post(port: stage.port, "/api/show", json: #"{"model":"gpu/tiny"}"#)
            #expect(shown.json["capabilities"] != nil, "\(shown.text)")
            for name in ["gpu/none", "cpu/tiny"] {
                #expect(try stage.send("GET", "/v1/models/\(name)").status == 404, "\(name)")
            }
            #expect(try stage.send("GET", "/v1/models/tiny/").status == 200)
            for path in ["//v1/models/tiny", "/v1//models/tiny", "///v1///models/hf.co/a/b"] {
                #expect(try stage.send("GET", path).status == 200, "\(path)")
            }
            let doubled = try stage.send("GET", "/v1/models//tiny")
            #expect(doubled.status == 404 && doubled.text.contains("two slashes in a row"), "\(doubled.text)")
            #expect((doubled.json["error"] as? [String: Any])?["code"] as? String == "not_found")
        }
    }

    @Test func modelThatItsServerDoesNotListIsNotSuggestedForItself() async throws {
        let upstream = try ScriptedUpstream(probing: { _ in .plain(200, #"{"data":[{"id":"tiny"}]}"#) }) { _ in [] }
        let upstreams = #"[{"name":"gpu","kind":"openai","url":"\#(upstream.url)/v1","models":["tiny2"]}]"#
        try await onStage(upstream: "", environment: [.upstreams: upstreams]) { stage in
            let answer = try stage.send("GET", "/v1/models/tiny2")
            #expect(answer.status == 404 && !answer.text.contains("Did you mean"), "\(answer.text)")
        }
    }

    @Test func ollamasFirstRequestsAreAnswered() async throws {
        try await onStage { stage in
            let head = try stage.send("HEAD", "/")
            #expect(head.status == 200)
            #expect(try stage.send("GET", "/api/version").json["version"] as? String == OllamaDoor.apiVersion)
            #expect(try stage.send("HEAD", "/api/version").status == 200)
        }
    }

    @Test(arguments: [
        ("/api/chat", #"{"model":"tiny","keep_alive":0}"#), ("/api/generate", #"{"model":"tiny","prompt":""}"#),
        ("/api/generate", #"{"model":"tiny","prompt":"a","suffix":"b","stream":false}"#),
        ("/api/embed", #"{"model":"tiny","input":"a"}"#), ("/api/embeddings", #"{"model":"tiny","prompt":"a"}"#),
    ])
    func requestThatOnlyOllamaAnswersIsPassedOn(_ path: String, _ body: String) async throws {
        let upstream = try ScriptedUpstream { _ in .plain(200, #"{"from":"the server"}"#) }
        try await onStage(upstream: upstream.url) { stage in
            let answer = try RawClient.post(port: stage.port, path, json: body)
            #expect(answer.status == 200 && answer.text == #"{"from":"the server"}"#)
            #expect(upstream.requests.last?.path == path)
            #expect(String(decoding: upstream.requests.last?.body ?? [], as: UTF8.self) == body)
        }
    }

    @Test func modelOfAnotherKindCountsAsLoaded() async throws {
        let upstreams = #"[{"name":"a","kind":"openai","url":"http://127.0.0.1:9","models":["tiny"]}]"#
        try await onStage(upstream: "", environment: [.upstreams: upstreams]) { stage in
            let chat = try RawClient.post(port: stage.port, "/api/chat", json: #"{"model":"tiny"}"#)
            #expect(chat.status == 200 && chat.json["done_reason"] as? String == "load", "\(chat.text)")
            #expect(chat.json["message"] is [String: Any])
            let generated = try RawClient.post(
                port: stage.port, "/api/generate", json: #"{"model":"tiny","prompt":""}"#)
            #expect(generated.json["response"] as? String == "" && generated.json["done"] as? Bool == true)
            let raw = #"{"model":"tiny","prompt":"a","raw":true}"#
            #expect(try RawClient.post(port: stage.port, "/api/generate", json: raw).status == 404)
        }
    }

    @Test func tokensAreEstimated() async throws {
        try await onStage { stage in
            let text = String(repeating: "word ", count: 100)
            let body = #"{"model":"tiny","messages":[{"role":"user","content":"\#(text)"}]}"#
            let answer = try RawClient.post(port: stage.port, "/v1/messages/count_tokens", json: body)
            #expect((100...200).contains(answer.json["input_tokens"] as? Int ?? 0), "\(answer.text)")
        }
    }
}
