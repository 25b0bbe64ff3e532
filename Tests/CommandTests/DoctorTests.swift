import ChatterdTestSupport
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
        #expect(status == 2)
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.hasPrefix("FAIL  configuration: CHATTERD_") })
    }

    @Test func doctorAsksOllamaForVersionAndModels() async throws {
        let server = try ollama()
        let (status, lines) = await lines([
            "CHATTERD_LISTEN": "127.0.0.1:0", "OLLAMA_URL": "http://127.0.0.1:\(server.port)", "PGHOST": "h",
            "CHATTERD_ECHO": "1",
        ])
        #expect(status == 2, "the schema is out of date")
        #expect(lines.contains("ok    PostgreSQL: 17.2"))
        #expect(lines.contains("FAIL  migrations: out of date; migrate"))
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

    /// An environment without a fault.
    private static let fine = [
        "CHATTERD_LISTEN": "127.0.0.1:0", "PGHOST": "h", "CHATTERD_UPSTREAMS": #"[{"name":"parrot","kind":"echo"}]"#,
    ]

    @Test func worstFindingDecidesAboutTheExitCode() async {
        for (check, status) in [
            (Doctor.Check.fine(.database, "17.2"), 0 as Int32), (.doubtful(.clock, "behind", advice: "set it"), 1),
            (.wrong(.writing, "full", advice: "free space"), 2),
        ] {
            var captured = CapturedCommand()
            captured.databaseChecks = [.fine(.database, "17.2"), check]
            #expect(await captured.run("doctor", environment: Self.fine) == status)
            #expect(captured.outputText.contains("\(check)\n"))
            #expect(await captured.run("doctor", "--json", environment: Self.fine) == status)
        }
    }

    @Test func documentHasIdsSeveritiesAndSourcesAndNoSecrets() async throws {
        var captured = CapturedCommand()
        captured.databaseChecks = [.doubtful(.clock, "sesame is behind", advice: "tell \"sesame\"")]
        let file = FileManager.default.temporaryDirectory.appending(path: "doctor-\(UUID())")
        try "7\n".write(to: file, atomically: true, encoding: .utf8)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: file) } }
        let environment = Self.fine.merging([
            "DATABASE_URL": "postgresql://app:sesame@h/chat", "CHATTERD_STORE_CONNECTIONS_FILE": file.path,
            "CHATTERD_ADMIN_TOKEN": "sesame-sesame-sesame",
        ]) { $1 }
        #expect(await captured.run("doctor", "--json", environment: environment) == 1)
        #expect(!captured.outputText.contains("sesame"))
        let document = try #require(
            try JSONSerialization.jsonObject(with: Data(captured.outputText.utf8)) as? [String: Any])
        #expect(document["severity"] as? String == "warning")
        let checks = try #require(document["checks"] as? [[String: String]])
        #expect(
            checks.contains([
                "id": "listener", "severity": "ok", "subject": "CHATTERD_LISTEN", "finding": "127.0.0.1:0 is free",
            ]))
        #expect(
            checks.contains([
                "id": "clock", "severity": "warning", "subject": "clock", "finding": "(secret) is behind",
                "advice": "tell \"(secret)\"",
            ]), "\(checks)")
        let settings = try #require(document["settings"] as? [[String: String]])
        #expect(settings.contains(["name": "CHATTERD_LISTEN", "source": "environment", "value": "127.0.0.1:0"]))
        #expect(settings.contains(["name": "DATABASE_URL", "source": "environment", "value": "(secret)"]))
        #expect(settings.contains(["name": "CHATTERD_STORE_CONNECTIONS", "source": "file", "file": file.path]))
        #expect(
            settings.contains { $0["name"] == "CHATTERD_SHARDS" && $0["source"] == "default" && $0["value"] != nil })
    }

    @Test func documentOfAWrongConfigurationHasItsProblems() async throws {
        let captured = CapturedCommand()
        #expect(await captured.run("doctor", "--json", environment: ["CHATTERD_SHARDS": "0"]) == 2)
        let document = try #require(
            try JSONSerialization.jsonObject(with: Data(captured.outputText.utf8)) as? [String: Any])
        #expect(document["severity"] as? String == "failure")
        #expect((document["checks"] as? [[String: String]])?.map { $0["id"] } == ["configuration"])
    }

    /// The stream of an answer whose words were made in these seconds.
    private static func stream(_ seconds: [Int], isComplete: Bool = true) -> String {
        let events = seconds.enumerated().map { index, second in
            let isLast = isComplete && index == seconds.count - 1
            return #"data: {"created_at":"2026-11-20T14:28:\#(second).5Z","message":{"content":"x"},"done":\#(isLast)}"#
        }
        return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
            + events.map { $0 + "\n\n" }.joined()
    }

    @Test(arguments: [
        (stream([10, 10, 10]), "ok    through URL: 3 events arrive as they are made: the first after "),
        (
            stream([10, 11, 14]),
            "FAIL  through URL: something on the way buffers streams: it holds pieces back for 4.0 s; "
        ),
        (stream([10], isComplete: false), "FAIL  through URL: the stream was cut after 1 events; "),
        (
            "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n" + #"{"error":"No such model."}"#,
            "FAIL  through URL: a prompt gets status 404 in place of a stream: No such model.; offer the built-in model"
        ),
        (TinyServer.ok("<html>"), "FAIL  through URL: a prompt gets status 200 in place of a stream; "),
    ])
    func streamThroughTheAddressOfClientsIsMeasured(answer: String, line: String) async throws {
        let server = try TinyServer { $0 == "POST /llmchat HTTP/1.1" ? answer : TinyServer.ok("{}") }
        let url = "http://127.0.0.1:\(server.port)"
        var captured = CapturedCommand()
        captured.databaseChecks = []
        let status = await captured.run("doctor", "--through", url, environment: Self.fine)
        #expect(status == (line.hasPrefix("ok") ? 0 : 2))
        let last = captured.outputText.split(separator: "\n").last ?? ""
        #expect(last.hasPrefix(line.replacing("URL", with: url)), "\(last)")
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
        #expect(status == 2)
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
        #expect(status == 2)
        #expect(
            lines.contains { $0.hasPrefix("FAIL  certificate: it expired ") && $0.contains("days ago") }, "\(lines)")
    }

    @Test func certificatesNeedDaysThatAreLeft() async throws {
        let certificates = try Certificates()
        for (name, words) in [("expired", "it expired "), ("server", "it belongs to the key")] {
            let (_, lines) = await lines([
                "CHATTERD_LISTEN": "127.0.0.1:0", "CHATTERD_TLS_LISTEN": "127.0.0.1:0",
                "CHATTERD_TLS_CERT": certificates.certificate(name), "CHATTERD_TLS_KEY": certificates.key(name),
            ])
            #expect(lines.contains { $0.contains(" certificate: \(words)") }, "\(lines)")
        }
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
