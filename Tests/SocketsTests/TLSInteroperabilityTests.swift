import ChatterdSockets
import ChatterdTestSupport
import Testing

/// TLS with curl and OpenSSL, if they are installed.
@Suite(.timeLimit(.minutes(30))) struct TLSInteroperabilityTests {
    let shard: Shard
    let files: Certificates

    init() throws {
        shard = try TestShard.any()
        files = try Certificates()
    }

    private func server() throws -> TestServer {
        let context = try TLSContext.server(certificate: files.certificate("server"), key: files.key("server"))
        return try TestServer(on: shard, tls: { context }) { stream, _ in
            stream.write(Array("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n".utf8).span)
            stream.shutdownWriting()
        }
    }

    @Test(.enabled(if: ForeignProgram.isInstalled("curl")), arguments: ["localhost", "127.0.0.1"])
    func curlTrustsTheServer(host: String) async throws {
        try await blocking {
            let server = try server()
            let url = "https://\(host):\(server.port)/"
            let trusting = try ForeignProgram.run(["curl", "-sS", "--cacert", files.authority, url])
            #expect(trusting.status == 0)
            #expect(trusting.output == "hello\n")
            // 60: the certificate cannot be verified.
            #expect(try ForeignProgram.run(["curl", "-sS", url]).status == 60)
        }
    }

    @Test(.enabled(if: ForeignProgram.isInstalled("openssl")), arguments: ["-tls1_2", "-tls1_3"])
    func clientOfOpenSSLIsServed(version: String) async throws {
        try await blocking {
            let server = try server()
            let result = try connect(to: server, version, "-alpn", "h2,http/1.1", "-servername", "localhost")
            #expect(result.contains("Verify return code: 0 (ok)"))
            #expect(result.contains("ALPN protocol: http/1.1"))
        }
    }

    @Test(.enabled(if: ForeignProgram.isInstalled("openssl")))
    func clientOfAnotherProtocolIsRefused() async throws {
        try await blocking {
            let result = try connect(to: try server(), "-alpn", "h2")
            #expect(result.contains("no application protocol"))
        }
    }

    @Test(.enabled(if: ForeignProgram.isInstalled("openssl")))
    func ticketSavesTheSecondHandshake() async throws {
        try await blocking {
            let server = try server()
            let session = files.certificate("second")
            #expect(try connect(to: server, "-tls1_2", "-sess_out", session).contains("New, TLSv1.2"))
            #expect(try connect(to: server, "-tls1_2", "-sess_in", session).contains("Reused, TLSv1.2"))
        }
    }

    private func connect(to server: TestServer, _ options: String...) throws -> String {
        try ForeignProgram.run(
            ["openssl", "s_client", "-connect", "127.0.0.1:\(server.port)", "-CAfile", files.authority] + options
        ).output
    }

    @Test(.enabled(if: ForeignProgram.isInstalled("openssl")), arguments: ["-tls1_2", "-tls1_3"])
    func serverOfOpenSSLIsReached(version: String) async throws {
        try await blocking {
            let server = try ForeignProgram([
                "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", files.certificate("server"), "-key",
                files.key("server"), "-rev", version,
            ])
            let port = try #require(Int(try server.waitFor("ACCEPT 127.0.0.1:")))
            let trusting = try TLSContext.client(authorities: files.authority)
            let client = try Endpoint.connect(port: port, on: shard, tls: (trusting, "localhost"))
            client.send("hello\n")
            try client.wait("the reversed line") { $0.text == "olleh\n" }
            client.close()
        }
    }

    @Test(.enabled(if: ForeignProgram.isInstalled("openssl")))
    func oldServerIsRefused() async throws {
        try await blocking {
            let server = try ForeignProgram([
                "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", files.certificate("server"), "-key",
                files.key("server"), "-rev", "-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0",
            ])
            let port = try #require(Int(try server.waitFor("ACCEPT 127.0.0.1:")))
            let trusting = try TLSContext.client(authorities: files.authority)
            let client = try Endpoint.connect(port: port, on: shard, tls: (trusting, "localhost"))
            #expect(try client.waitForError().code == .tls)
        }
    }
}
