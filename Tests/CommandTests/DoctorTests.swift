import Foundation
import Testing

@testable import ChatterdCommand

@Suite(.timeLimit(.minutes(30))) struct DoctorTests {
    private func ollama() throws -> TinyServer {
        try TinyServer { line in
            switch line {
            case "GET /api/version HTTP/1.0": TinyServer.ok(#"{"version":"0.9.1"}"#)
            case "GET /api/tags HTTP/1.0":
                TinyServer.ok(#"{"models":[{"name":"tiny:latest","size":1},{"name":"big:7b"}]}"#)
            case "POST /api/chat HTTP/1.1": TinyServer.refusal
            default: "HTTP/1.1 404 Not Found\r\n\r\n"
            }
        }
    }

    private func lines(_ environment: [String: String]) async -> (status: Int32, lines: [String]) {
        let captured = CapturedCommand()
        let status = await captured.run("doctor", environment: environment)
        return (status, captured.outputText.split(separator: "\n").map(String.init))
    }

    @Test func doctorChecksOnlyAWrongConfiguration() async {
        let (status, lines) = await lines(["CHATTERD_LISTEN": "x", "CHATTERD_SHARDS": "0"])
        #expect(status == 1)
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.hasPrefix("FAIL  configuration: CHATTERD_") })
    }

    @Test func doctorAsksOllamaForVersionAndModels() async throws {
        let server = try ollama()
        let (status, lines) = await lines([
            "CHATTERD_LISTEN": "127.0.0.1:0", "OLLAMA_URL": "http://127.0.0.1:\(server.port)", "PGHOST": "h",
            "CHATTERD_ECHO": "1",
        ])
        #expect(status == 1, "the schema is out of date")
        #expect(lines.contains("ok    PostgreSQL: 17.2"))
        #expect(lines.contains("FAIL  schema: out of date; migrate"))
        #expect(lines.contains("ok    CHATTERD_LISTEN: 127.0.0.1:0 is free"))
        #expect(lines.contains("ok    model server ollama: http://127.0.0.1:\(server.port) is Ollama 0.9.1"))
        #expect(lines.contains("ok    model server ollama: models: tiny:latest, big:7b"))
        #expect(lines.contains("ok    model server echo: built in"))
    }

    @Test func doctorReportsMissingModelsAndServers() async throws {
        let server = try ollama()
        let other = try TinyServer { _ in TinyServer.ok("<html>") }
        let (_, lines) = await lines([
            "CHATTERD_LISTEN": "127.0.0.1:\(server.port)",
            "CHATTERD_UPSTREAMS": """
            [{"name":"a","kind":"ollama","url":"http://127.0.0.1:\(server.port)","key":"sesame","models":["tiny","huge"]},
             {"name":"b","kind":"ollama","url":"http://127.0.0.1:1"},
             {"name":"c","kind":"ollama","url":"http://127.0.0.1:\(other.port)"}]
            """,
        ])
        #expect(lines.contains("FAIL  model server a: it lacks huge; fetch there: ollama pull huge"))
        #expect(lines.contains { $0.hasPrefix("FAIL  model server b: no server answers at http://127.0.0.1:1") })
        #expect(
            lines.contains { $0.hasPrefix("FAIL  model server c: http://127.0.0.1:\(other.port) does not answer as") })
        #expect(lines.contains { $0.hasPrefix("FAIL  PostgreSQL: no database is named") })
        #expect(
            lines.contains { $0.hasPrefix("FAIL  CHATTERD_LISTEN: 127.0.0.1:\(server.port) cannot be listened on") })
        #expect(!lines.joined().contains("sesame"))
    }

    @Test func doctorReportsAServerThatAnswersNoChats() async throws {
        let server = try TinyServer { line in
            switch line {
            case "GET /api/version HTTP/1.0": TinyServer.ok(#"{"version":"0.9.1"}"#)
            case "GET /api/tags HTTP/1.0": TinyServer.ok(#"{"models":[{"name":"tiny"}]}"#)
            case "GET /v1/models HTTP/1.1": TinyServer.ok(#"{"object":"list","data":[{"id":"tiny"}]}"#)
            // The connection ends without an answer.
            default: ""
            }
        }
        let (status, lines) = await lines([
            "CHATTERD_UPSTREAMS": """
            [{"name":"a","kind":"ollama","url":"http://127.0.0.1:\(server.port)"},
             {"name":"b","kind":"openai","url":"http://127.0.0.1:\(server.port)"}]
            """
        ])
        #expect(status == 1)
        for name in ["a", "b"] {
            #expect(
                lines.contains {
                    $0.hasPrefix("FAIL  model server \(name): ")
                        && $0.contains("lists its models, but does not answer a chat")
                }, "\(lines)")
        }
    }

    @Test func doctorReportsACertificateThatHasExpired() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "doctor-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        let (certificate, key) = (folder.appending(path: "cert.pem"), folder.appending(path: "key.pem"))
        try Self.expiredCertificate.write(to: certificate, atomically: true, encoding: .utf8)
        try Self.keyOfExpiredCertificate.write(to: key, atomically: true, encoding: .utf8)
        let (status, lines) = await lines([
            "CHATTERD_LISTEN": "127.0.0.1:0", "CHATTERD_TLS_LISTEN": "127.0.0.1:0",
            "CHATTERD_TLS_CERT": certificate.path, "CHATTERD_TLS_KEY": key.path,
        ])
        #expect(status == 1)
        #expect(
            lines.contains { $0.hasPrefix("FAIL  certificate: it expired ") && $0.contains("days ago") }, "\(lines)")
    }

    /// Valid until 2024-01-02.
    private static let expiredCertificate = """
        -----BEGIN CERTIFICATE-----
        MIIBGTCBv6ADAgECAgEBMAoGCCqGSM49BAMCMBYxFDASBgNVBAMMC29sZC5leGFt
        cGxlMB4XDTIzMDEwMTAwMDAwMFoXDTI0MDEwMjAzMDQwNVowFjEUMBIGA1UEAwwL
        b2xkLmV4YW1wbGUwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQAu0RsBvDaWdNY
        mFeAurNP4VwgBy5MXcqSjZSRCweVxqRbCl3pdkC8D+qkYJVcAKUZTiY14ZV/Pkdy
        lqU+Sam3MAoGCCqGSM49BAMCA0kAMEYCIQDOn0wPCuWe7Aj03Cte5MjcCS0PvfFl
        /G/yyely+V4pyAIhAIh9FExMMsBEnOhI80DrbNxZ6gALbxegKX5mn0WGQMfW
        -----END CERTIFICATE-----

        """
    private static let keyOfExpiredCertificate = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgi4ioVdhWC4AkURrY
        1FX9JXdqE9gNIm8QWE5LumEbggOhRANCAAQAu0RsBvDaWdNYmFeAurNP4VwgBy5M
        XcqSjZSRCweVxqRbCl3pdkC8D+qkYJVcAKUZTiY14ZV/PkdylqU+Sam3
        -----END PRIVATE KEY-----

        """

    @Test func doctorAsksServersOfOtherKindsForTheirModels() async throws {
        let server = try TinyServer { line in
            switch line {
            case "GET /v1/models HTTP/1.1":
                TinyServer.ok(#"{"object":"list","data":[{"id":"qwen3"},{"id":"llama3"}]}"#)
            case "POST /v1/chat/completions HTTP/1.1": TinyServer.refusal
            default: "HTTP/1.1 404 Not Found\r\n\r\n"
            }
        }
        let (_, lines) = await lines([
            "CHATTERD_UPSTREAMS": """
            [{"name":"a","kind":"openai","url":"http://127.0.0.1:\(server.port)","key":"sesame"},
             {"name":"b","kind":"openai","url":"http://127.0.0.1:\(server.port)","models":["qwen3","gone"]},
             {"name":"c","kind":"openai","url":"http://127.0.0.1:\(server.port)/elsewhere"},
             {"name":"d","kind":"openai","url":"http://127.0.0.1:\(server.port)","key_env":"ABSENT_KEY"}]
            """
        ])
        #expect(
            lines.contains("ok    model server a: http://127.0.0.1:\(server.port)/v1 has models: qwen3, llama3"),
            "\(lines)")
        #expect(lines.contains { $0.hasPrefix("FAIL  model server b: it lacks gone;") })
        #expect(lines.contains { $0.contains("model server c") && $0.contains("does not list its models") })
        #expect(
            lines.contains { $0.hasPrefix("FAIL  model server d: the variable ABSENT_KEY with its key is not set;") })
        #expect(!lines.joined().contains("sesame"))
    }
}
