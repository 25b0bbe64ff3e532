import ChatterdBasics
import ChatterdTestSupport
import Testing

@testable import ChatterdCommand
@testable import ChatterdConfiguration
@testable import ChatterdDevelopmentCluster
@testable import ChatterdJSONLog
@testable import ChatterdPostgresStore
@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// A model server of another kind than its description says: `doctor` and `POST /upstreams/:name/test` name the right one.
@Suite(.timeLimit(.minutes(30))) struct WrongKindTests {
    /// A server that lists models and accepts chats at some paths; it answers 404 at other paths, in its own words.
    private static func server(
        lists: [String: String], chats: Set<String>, notFound: String
    ) throws -> ScriptedUpstream {
        try ScriptedUpstream(
            probing: { request in lists[request.path].map { .plain(200, $0) } ?? .plain(404, notFound) },
            { request in
                chats.contains(request.path)
                    ? .plain(400, #"{"error":{"message":"'messages' is required","type":"invalid_request_error"}}"#)
                    : .plain(404, notFound)
            })
    }

    private static let data = #"{"object":"list","data":[{"id":"tiny"}]}"#

    private static func llamaStack7() throws -> ScriptedUpstream {
        try server(
            lists: ["/v1/models": data], chats: ["/v1/chat/completions"], notFound: #"{"detail":"Not Found"}"#)
    }

    private static func llamaStack2() throws -> ScriptedUpstream {
        try server(
            lists: ["/v1/models": data, "/v1/openai/v1/models": data],
            chats: ["/v1/inference/chat-completion", "/v1/openai/v1/chat/completions"],
            notFound: #"{"detail":"Not Found"}"#)
    }

    private static func llamaServer() throws -> ScriptedUpstream {
        try server(
            lists: ["/v1/models": data, "/api/tags": #"{"models":[{"name":"tiny"}]}"#],
            chats: ["/v1/chat/completions"],
            notFound: #"{"error":{"message":"File Not Found","type":"not_found_error","code":404}}"#)
    }

    private static func ollama() throws -> ScriptedUpstream {
        try server(
            lists: [
                "/v1/models": data, "/api/tags": #"{"models":[{"name":"tiny"}]}"#,
                "/api/version": #"{"version":"0.32.15"}"#,
            ],
            chats: ["/api/chat", "/v1/chat/completions"], notFound: "404 page not found")
    }

    /// The doctor's line about a model server.
    private func lines(_ kind: String, _ server: ScriptedUpstream, path: String = "") async -> [String] {
        let list = #"[{"name":"a","kind":"\#(kind)","url":"\#(server.url)\#(path)","key":"sesame"}]"#
        let doctor = Doctor(environment: ["CHATTERD_UPSTREAMS": list]) { _ in [] }
        let lines = Lock<[String]>([])
        _ = await CommandProbe.$limit.withValue(.seconds(600)) {
            await doctor.run { line in
                if line.contains(" model server a: ") { lines.withLock { $0.append(line) } }
            }
        }
        return lines.withLock { $0 }
    }

    @Test func rightKindIsFine() async throws {
        for (kind, server, path) in [
            ("openai", try Self.llamaStack7(), ""), ("llamastack", try Self.llamaStack2(), ""),
            ("openai", try Self.llamaStack2(), "/v1/openai/v1"), ("openai", try Self.llamaServer(), "/v1/"),
            ("ollama", try Self.ollama(), ""), ("openai", try Self.ollama(), ""),
        ] {
            let lines = await lines(kind, server, path: path)
            #expect(!lines.isEmpty && lines.allSatisfy { $0.hasPrefix("ok ") }, "\(lines)")
            #expect(server.requests.map(\.body) == [Array("{}".utf8)], "one chat without a message is tried")
        }
    }

    @Test func wrongKindIsNamedByTheDoctor() async throws {
        let cases: [(String, ScriptedUpstream, String, String)] = [
            ("llamastack", try Self.llamaStack7(), "", "its kind must be openai"),
            ("openai", try Self.llamaStack2(), "", "its url must be URL/v1/openai/v1"),
            ("openai", try Self.llamaStack7(), "/v1/openai/v1", "its url must be URL/v1"),
            ("openai", try Self.llamaServer(), "/elsewhere", "its url must be URL/v1"),
            ("ollama", try Self.llamaServer(), "", "its kind must be openai"),
            ("llamastack", try Self.llamaServer(), "", "its kind must be openai"),
            ("llamastack", try Self.ollama(), "", "its kind must be ollama"),
            ("ollama", try Self.llamaStack2(), "", "its kind must be openai and its url must be URL/v1/openai/v1"),
        ]
        for (kind, server, path, advice) in cases {
            let lines = await lines(kind, server, path: path)
            let ending = "; " + advice.replacing("URL", with: server.url)
            #expect(lines.count == 1 && lines[0].hasPrefix("FAIL ") && lines[0].hasSuffix(ending), "\(lines)")
            #expect(server.requests.allSatisfy { $0.body == Array("{}".utf8) }, "no model is asked")
        }
    }

    @Test func serverOfNoKindGetsTheUsualAdvice() async throws {
        let server = try Self.server(lists: [:], chats: [], notFound: "404 page not found")
        for (kind, advice) in [
            ("ollama", "check host, port and path"), ("openai", "check host, port, path and key"),
        ] {
            let lines = await lines(kind, server)
            #expect(lines.count == 1 && lines[0].hasSuffix("; " + advice), "\(lines)")
        }
    }

    @Test(arguments: [400, 500])
    func missingKeyOfLiteLLMIsReported(_ status: Int) async throws {
        let server = try ScriptedUpstream(
            probing: { _ in .plain(status, #"{"error":{"message":"No connected db.","type":"no_db_connection"}}"#) },
            { _ in [] })
        let lines = await lines("openai", server)
        #expect(lines.count == 1 && lines[0].contains("its key must be corrected"), "\(lines)")
        #expect(lines.first?.contains("missing or wrong key") == true)
    }

    @Test func testNamesTheRightKindAndClientsGetOnlyThePath() async throws {
        let token = "an-admin-token-of-the-tests"
        let server = try Self.llamaStack7()
        let list = #"[{"name":"stack","kind":"llamastack","url":"\#(server.url)","models":["tiny"]}]"#
        try await onStage(upstream: "", environment: [.upstreams: list, .adminToken: token]) { stage in
            let client = try RawClient(port: stage.port)
            client.request("POST", "/upstreams/stack/test", fields: [("Authorization", "Bearer \(token)")])
            let trial = try client.readResponse(of: "POST")
            #expect(trial.json["ok"] as? Bool == false)
            let problem = trial.json["problem"] as? String
            #expect(problem?.hasSuffix(" Its description is wrong: its kind must be openai.") == true, "\(trial.text)")

            let answer = try stage.chat("app", "hi", stream: false)
            #expect(answer.status == 400 && answer.json["code"] as? String == "upstream_rejected")
            let words =
                "The model server does not know /v1/inference/chat-completion: since Llama Stack 0.3 its kind is openai."
            #expect(answer.json["error"] as? String == words)
        }
    }
}
