import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdHTTPServer
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdTestSupport
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// Requests that are refused before anything is stored.
@Suite(.timeLimit(.minutes(30))) struct ValidationTests {
    private static let good = "\"model\":\"tiny\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]"

    static let undecodable: [String] = [
        "", " ", "{", "null", "[]", "\"text\"", "{\"appID\":\"app\",\(good)", "{\"appID\":\"app\",\(good)} x",
        "{\"appID\":\"app\",\(good),}", "{'appID':'app'}", "{\"appID\":\"\\ud800\",\(good)}",
        // The appID.
        "{\(good)}", "{\"appID\":null,\(good)}", "{\"appID\":\"\",\(good)}", "{\"appID\":7,\(good)}",
        "{\"appID\":[],\(good)}",
        "{\"appID\":\"\(String(repeating: "a", count: 156))\",\(good)}",
        // The model.
        "{\"appID\":\"app\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}",
        "{\"appID\":\"app\",\"model\":null,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}",
        "{\"appID\":\"app\",\"model\":5,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}",
        "{\"appID\":\"app\",\"model\":\"tiny\\n\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}",
        "{\"appID\":\"app\",\(good),\"Model\":\"other\"}",
        "{\"appID\":\"app\",\(good),\"options\":{\"\u{17F}tream\":false}}",
        // The messages.
        "{\"appID\":\"app\",\"model\":\"tiny\",\"messages\":[{\"role\":\"user\",\"content\":\"\\n \"}]}",
        "{\"appID\":\"app\",\"model\":\"tiny\"}", "{\"appID\":\"app\",\"model\":\"tiny\",\"messages\":null}",
        "{\"appID\":\"app\",\"model\":\"tiny\",\"messages\":[]}",
        "{\"appID\":\"app\",\"model\":\"tiny\",\"messages\":{}}",
        "{\"appID\":\"app\",\"model\":\"tiny\",\"messages\":\"x\"}",
        "{\"appID\":\"app\",\"model\":\"tiny\",\"messages\":[\"x\"]}",
        "{\"appID\":\"app\",\"model\":\"tiny\",\"messages\":[{\"content\":\"x\"}]}",
        "{\"appID\":\"app\",\"model\":\"tiny\",\"messages\":[{\"role\":null,\"content\":\"x\"}]}",
        "{\"appID\":\"app\",\"model\":\"tiny\",\"messages\":[{\"role\":7,\"content\":\"x\"}]}",
        "{\"appID\":\"app\",\"model\":\"tiny\",\"messages\":[{\"role\":\"user\",\"content\":7}]}",
        "{\"appID\":\"app\",\"model\":\"tiny\",\"messages\":[{\"role\":\"user\",\"content\":[\"x\"]}]}",
        // Whether it streams.
        "{\"appID\":\"app\",\(good),\"stream\":\"yes\"}", "{\"appID\":\"app\",\(good),\"stream\":1}",
    ]

    @Test func invalidBodyIsRefusedWithoutStoringIt() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            for body in ValidationTests.undecodable {
                for path in ["/llmchat", "/llmprep"] {
                    let answer = try RawClient.post(port: stage.port, path, json: body)
                    let isUnderstoodByPrep = path == "/llmprep" && !body.contains("\"model\":\"tiny\"")
                    #expect(answer.status == 422 || (isUnderstoodByPrep && answer.status == 200), "\(path) \(body)")
                    guard answer.status == 422 else { continue }
                    #expect(answer["Content-Type"]?.hasPrefix("application/json") == true)
                    #expect((answer.json["error"] as? String)?.isEmpty == false, "\(body): \(answer.text)")
                    #expect(answer.json["code"] as? String == "invalid_request", "\(body)")
                }
            }
            #expect(upstream.requests.isEmpty)
            #expect(
                try stage.cluster.query("SELECT count(*) FROM chatts WHERE name <> 'user'", database: stage.database)
                    == [["0"]])
        }
    }

    @Test func longestAppIDIsAccepted() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            // Characters as PostgreSQL and the course's column count them, not bytes.
            let longest = String(repeating: "é", count: 155)
            Transcript(try stage.chat(longest, "x")).check()
            #expect(try stage.chat(longest + "é", "x").status == 422)
        }
    }

    @Test func bodyOverTheLimitIsRefused() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url, environment: [.bodyLimit: "1024"]) { stage in
            let long = String(repeating: "x", count: 1000)
            let answer = try stage.chat("app", long)
            #expect(answer.status == 413)
            #expect(
                answer.json["error"] as? String
                    == "The body is too large. At most 1KiB are accepted (CHATTERD_BODY_LIMIT).")
            #expect(answer.json["code"] as? String == "body_too_large")
            #expect(try stage.chat("app", "short").status == 200)
            #expect(try stage.rows("app").map(\.role) == ["user", "assistant"])
        }
    }

    @Test func unknownPathsAndMethodsAreRefused() async throws {
        try await onStage { stage in
            let unknown = try RawClient.get(port: stage.port, "/nowhere")
            #expect(unknown.status == 404)
            #expect(unknown.json["error"] is String && unknown.json["code"] is String)
            let alike = try RawClient.get(port: stage.port, "/llmchatt").json["error"] as? String
            #expect(alike?.contains("/llmchat?") == true)
            for (method, path, allowed) in [
                ("GET", "/llmchat", "POST"), ("PUT", "/llmprep", "POST"), ("GET", "/llmprompt", "POST"),
                ("POST", "/getchatts", "GET"), ("GET", "/postchatt", "POST"), ("DELETE", "/", "GET"),
                ("POST", "/healthz", "GET"),
            ] {
                let answer = try RawClient.get(port: stage.port, path, method: method)
                #expect(answer.status == 405, "\(method) \(path)")
                #expect(answer["Allow"]?.contains(allowed) == true, "\(method) \(path)")
                #expect((answer.json["error"] as? String)?.contains(allowed) == true)
            }
        }
    }

    @Test func emptyBodyGetsAnExample() async throws {
        try await onStage { stage in
            for path in ["/llmchat", "/llmprep", "/postchatt", "/llmprompt"] {
                for body in ["", " \r\n"] {
                    let answer = try RawClient.post(port: stage.port, path, json: body)
                    let text = try #require(answer.json["error"] as? String)
                    #expect(answer.status == 422 && text.hasPrefix("The body is empty. Send JSON such as {"))
                    // The example is a valid body.
                    let example = text.drop { $0 != "{" }.dropLast()
                    let retried = try RawClient.post(port: stage.port, path, json: String(example))
                    // The stage has no model server that could answer an /llmprompt.
                    #expect(retried.status == (path == "/llmprompt" ? 502 : 200), "\(path) \(example)")
                }
            }
        }
    }

    @Test(arguments: [
        ("application/x-www-form-urlencoded", "appID=me&model=echo"), ("application/x-www-form-urlencoded", "hello"),
        (
            "multipart/form-data; boundary=b",
            "--b\r\nContent-Disposition: form-data; name=\"appID\"\r\n\r\nme\r\n--b--\r\n"
        ),
    ])
    func formGetsTheAdviceToSendJSON(type: String, form: String) async throws {
        try await onStage { stage in
            for path in ["/llmchat", "/llmprep", "/postchatt"] {
                let client = try RawClient(port: stage.port)
                client.request("POST", path, fields: [("Content-Type", type)], body: Array(form.utf8))
                let answer = try client.readResponse()
                #expect(answer.status == 422)
                #expect((answer.json["error"] as? String)?.hasPrefix("The body is a form. Send JSON such as {") == true)
            }
        }
    }

    @Test func bodyOfARouteThatNeedsASmallOneHasALimit() async throws {
        try await onStage { stage in
            let posting = #"{"name":"ada","message":"Hello"}"#
            for (size, status) in [(Request.smallBodyLimit, 200), (Request.smallBodyLimit + 1, 422)] {
                let client = try RawClient(port: stage.port)
                let body = posting + String(repeating: " ", count: size - posting.utf8.count)
                client.request("POST", "/postchatt", body: Array(body.utf8))
                #expect(try client.readResponse().status == status)
            }
        }
    }

    @Test func jsonThatCurlLabelsAsAFormIsAccepted() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            let client = try RawClient(port: stage.port)
            client.request(
                "POST", "/llmchat", fields: [("Content-Type", "application/x-www-form-urlencoded")],
                body: Array((" \n" + chatBody("app", "x")).utf8))
            Transcript(try client.readResponse()).check()
        }
    }

    @Test func compressedBodyIsRefused() async throws {
        try await onStage { stage in
            let client = try RawClient(port: stage.port)
            client.request("POST", "/llmprep", fields: [("Content-Encoding", "gzip")], body: [0x1F, 0x8B, 8, 0])
            let answer = try client.readResponse()
            #expect(answer.status == 415)
            #expect(answer["accept-encoding"] == "identity")
        }
    }

    @Test func successfulBodiesEndWithALineEnd() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            let prep = try RawClient.post(port: stage.port, "/llmprep", json: chatBody("app", "seed", role: "system"))
            #expect(prep.text == "{}\n" && prep["content-length"] == "3")
            let whole = try stage.chat("app", "Hi", stream: false)
            #expect(whole.text.hasSuffix("}\n") && !whole.text.hasSuffix("\n\n"))
            for path in ["/", "/healthz", "/readyz", "/getchatts", "/models"] {
                let answer = try RawClient.get(port: stage.port, path)
                #expect(answer.status == 200 && answer.text.hasSuffix("\n"), "\(path)")
                #expect(answer["content-length"] == "\(answer.body.count)")
            }
        }
    }

    @Test func headersOfClientsMakeNoDifference() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            for fields in [
                [], [("Content-Type", "text/plain")], [("Accept", "image/png")], [("Accept", "text/event-streaming")],
                [("Accept-Encoding", "gzip, deflate, br")],
            ] {
                let client = try RawClient(port: stage.port)
                client.request("POST", "/llmchat", fields: fields, body: Array(chatBody("app", "x").utf8))
                Transcript(try client.readResponse()).check()
            }
        }
    }
}
