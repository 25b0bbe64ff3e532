import ChatterdSockets
import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct TLSTests {
    let shard: Shard
    let files: Certificates
    let trusting: TLSContext

    init() throws {
        shard = try TestShard.any()
        files = try Certificates()
        trusting = try TLSContext.client(authorities: files.authority)
    }

    private func server(
        _ name: String = "server", onBytes: (@Sendable (TCPStream, Span<UInt8>) -> Void)? = TestServer.echo
    ) throws -> TestServer {
        let context = try TLSContext.server(certificate: files.certificate(name), key: files.key(name))
        return try TestServer(on: shard, tls: { context }, onBytes: onBytes)
    }

    @Test func bytesGoBothWaysAndBothEndsAreReported() async throws {
        try await blocking {
            let server = try server()
            let client = try Endpoint.connect(port: server.port, on: shard, tls: (trusting, "localhost"))
            client.send("written before the handshake")
            try client.wait("the echo") { $0.text == "written before the handshake" }
            #expect(client.record.withLock { $0.isConnected })

            client.use { $0.shutdownWriting() }
            let served = try server.connection(0)
            #expect(try !served.wait("the client's end") { $0.hasEnded }.isTruncated)
            served.send("after the other's end")
            served.use { $0.shutdownWriting() }
            let record = try client.wait("the server's end") { $0.hasEnded }
            #expect(record.text.hasSuffix("after the other's end"))
            #expect(!record.isTruncated)
            client.close()
            served.close()
        }
    }

    @Test func closeSendsTheCloseAlert() async throws {
        try await blocking {
            let server = try server(onBytes: nil)
            let client = try Endpoint.connect(port: server.port, on: shard, tls: (trusting, "localhost"))
            client.send("x")
            let served = try server.connection(0)
            try served.wait("a byte") { $0.text == "x" }
            served.close()
            #expect(try !client.wait("the end") { $0.hasEnded }.isTruncated)
            client.close()
        }
    }

    @Test(arguments: [1, 2, 3, 5, 100])
    func everySizeOfPiecesWorks(piece: Int) async throws {
        try await blocking {
            let server = try server()
            let proxy = try ByteProxy(to: server.port, piece: piece)
            let client = try Endpoint.connect(port: proxy.port, on: shard, tls: (trusting, "localhost"))
            let bytes = Self.pattern(2000)
            client.send(bytes)
            try client.wait("the echo") { $0.bytes == bytes }
            client.use { $0.shutdownWriting() }
            let served = try server.connection(0)
            try served.wait("the end") { $0.hasEnded }
            served.use { $0.shutdownWriting() }
            #expect(try !client.wait("the end") { $0.hasEnded }.isTruncated)
        }
    }

    @Test func truncatedConnectionDiffersFromAnEndedOne() async throws {
        try await blocking {
            let server = try server()
            let proxy = try ByteProxy(to: server.port, piece: 4096)
            let client = try Endpoint.connect(port: proxy.port, on: shard, tls: (trusting, "localhost"))
            client.send("x")
            try client.wait("the echo") { $0.text == "x" }
            proxy.cut()
            #expect(try client.wait("the client's end") { $0.hasEnded }.isTruncated)
            #expect(try server.connection(0).wait("the server's end") { $0.hasEnded }.isTruncated)
        }
    }

    @Test func pausedReaderBlocksTheWriter() async throws {
        try await blocking {
            let server = try server(onBytes: nil)
            let client = try Endpoint.connect(port: server.port, on: shard, tls: (trusting, "localhost"))
            try client.wait("the handshake") { $0.isConnected }
            let served = try server.connection(0)
            served.use { $0.pauseReading() }
            let bytes = [UInt8](repeating: 7, count: 32 * 1024 * 1024)
            client.send(bytes)
            try client.wait("the system accepts no more bytes") { $0.blocked == 1 }
            #expect(client.record.withLock { $0.drained } == 0)
            served.use { $0.resumeReading() }
            try client.wait("all is sent") { $0.drained == 1 }
            let record = try served.wait("all bytes have arrived") { $0.bytes.count == bytes.count }
            #expect(record.bytes == bytes)
        }
    }

    @Test(arguments: ["localhost", "127.0.0.1", "::1", "a.wild.test"])
    func certificateServesItsNames(host: String) async throws {
        try await blocking {
            let server = try server()
            let client = try Endpoint.connect(port: server.port, on: shard, tls: (trusting, host))
            try client.wait("the handshake") { $0.isConnected }
            client.close()
        }
    }

    @Test(arguments: [
        ("server", "example.test"), ("server", "127.0.0.2"), ("server", "wild.test"), ("server", "a.b.wild.test"),
        ("server", "xlocalhost"), ("wrong", "localhost"), ("expired", "localhost"),
    ])
    func certificateThatDoesNotMatchIsRefused(name: String, host: String) async throws {
        try await blocking {
            let server = try server(name)
            let client = try Endpoint.connect(port: server.port, on: shard, tls: (trusting, host))
            client.send("secret")
            let error = try client.waitForError()
            #expect(error.code == .tls)
            #expect(error.message.contains("certificate refused"))
            // The server gets the error, and no data.
            let served = try server.connection(0)
            #expect(try served.wait("the refusal") { $0.error != nil || $0.hasEnded }.bytes.isEmpty)
            #expect(client.record.withLock { !$0.isConnected })
        }
    }

    @Test func unknownAuthorityIsRefused() async throws {
        try await blocking {
            let server = try server()
            let client = try Endpoint.connect(port: server.port, on: shard, tls: (try TLSContext.client(), "localhost"))
            #expect(try client.waitForError().code == .tls)
        }
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\u{0}\u{1}\u{2}\u{3}\u{4}", String(repeating: "x", count: 70_000),
    ])
    func garbageInsteadOfAHandshakeEndsTheConnection(garbage: String) async throws {
        try await blocking {
            let server = try server()
            let raw = try TCPConnection.connect(port: server.port)
            raw.send(garbage)
            raw.halfClose()
            #expect(try server.connection(0).waitForError().code == .tls)
            #expect(raw.waitForPeerClose())
        }
    }

    @Test func serverWithoutTLSIsATLSError() async throws {
        try await blocking {
            let server = try TestServer(
                on: shard, onBytes: { stream, _ in stream.write(Array("HTTP/1.1 400 Bad\r\n\r\n".utf8).span) })
            let client = try Endpoint.connect(port: server.port, on: shard, tls: (trusting, "localhost"))
            #expect(try client.waitForError().code == .tls)
        }
    }

    @Test func disconnectDuringTheHandshakeIsAnError() async throws {
        try await blocking {
            let server = try TestServer(on: shard, onBytes: { stream, _ in stream.close() })
            let client = try Endpoint.connect(port: server.port, on: shard, tls: (trusting, "localhost"))
            #expect(try client.waitForError().code == .tls)
        }
    }

    @Test func oldVersionIsRefused() async throws {
        try await blocking {
            let server = try server()
            let raw = try TCPConnection.connect(port: server.port)
            // A hello of TLS 1.1 with TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA.
            let hello: [UInt8] = [3, 2] + [UInt8](repeating: 9, count: 32) + [0, 0, 2, 0xC0, 0x09, 1, 0]
            raw.send([22, 3, 1, 0, UInt8(hello.count + 4), 1, 0, 0, UInt8(hello.count)] + hello)
            // RFC 8446 6.2: a fatal alert, protocol_version.
            guard case .bytes(let answer) = raw.receive() else {
                Issue.record("no alert")
                return
            }
            #expect(answer.first == 21)
            #expect(answer.suffix(2) == [2, 70])
        }
    }

    @Test func certificateIsReplacedForNewConnectionsOnly() async throws {
        try await blocking {
            let identity = try TLSIdentity(certificate: files.certificate("server"), key: files.key("server"))
            let server = try TestServer(on: shard, tls: { identity.current }, onBytes: TestServer.echo)
            let old = try Endpoint.connect(port: server.port, on: shard, tls: (trusting, "a.wild.test"))
            try old.wait("the handshake") { $0.isConnected }

            try files.replace("server", by: "second")
            try identity.reload()
            let refused = try Endpoint.connect(port: server.port, on: shard, tls: (trusting, "a.wild.test"))
            #expect(try refused.waitForError().code == .tls)
            old.send("still there")
            try old.wait("the echo") { $0.text == "still there" }

            try files.overwrite(files.certificate("server"), with: "garbage")
            #expect(throws: SocketError.self) { try identity.reload() }
            let fresh = try Endpoint.connect(port: server.port, on: shard, tls: (trusting, "localhost"))
            try fresh.wait("the handshake") { $0.isConnected }
        }
    }

    @Test func filesThatCannotBeUsedAreRefusedWithTheReason() throws {
        func fails(_ certificate: String, _ key: String) -> String? {
            let error = #expect(throws: SocketError.self) {
                try TLSContext.server(certificate: certificate, key: key)
            }
            #expect(error?.code == .tls)
            return error?.message
        }
        #expect(fails("/nowhere.pem", files.key("server"))?.contains("No such file") == true)
        #expect(fails(files.certificate("server"), "/nowhere.key")?.contains("No such file") == true)
        #expect(fails(files.certificate("server"), files.key("second"))?.contains("mismatch") == true)
        try files.overwrite(files.key("second"), with: Self.lockedKey)
        #expect(fails(files.certificate("second"), files.key("second"))?.contains("private key") == true)
    }

    @Test func authoritiesThatCannotBeUsedAreRefusedWithTheReason() throws {
        func fails(_ path: String) -> String? {
            let error = #expect(throws: SocketError.self) { try TLSContext.client(authorities: path) }
            #expect(error?.code == .tls)
            #expect(error?.message.contains(path) == true)
            return error?.message
        }
        #expect(fails("/nowhere.pem")?.contains("No such file") == true)
        #expect(fails("/tmp") != nil)
        let path = files.certificate("second")
        for text in [
            "", "garbage", "-----BEGIN CERTIFICATE-----\ngarbage\n-----END CERTIFICATE-----\n", Self.lockedKey,
        ] {
            try files.overwrite(path, with: text)
            #expect(fails(path)?.contains("authorities") == true)
        }
        try files.overwrite(path, with: "")
        #expect(fails(path)?.contains("no certificate") == true)
    }

    @Test func contextOfTheSystemIsShared() throws {
        #expect(try TLSContext.system() === TLSContext.system())
    }

    private static func pattern(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    }

    /// A key with a password, for which a server cannot ask.
    private static let lockedKey = """
        -----BEGIN EC PRIVATE KEY-----
        Proc-Type: 4,ENCRYPTED
        DEK-Info: AES-128-CBC,6915132FEBF6E2620066790DC4B713D4

        GHxRuq09eVubSc2Sp2gUwqtb/EEfHddr4pSH31D7lXvARnFQn/ZNq2yZage2ABEv
        vbgY+L3i0IfiXVfDTl+V9DEVdKRE78tjf2UD6h7hEOVsH/fd0pacIUF9TivH01/p
        sa8UbQn6RJBuurm4l3q54FEar5lgwiEsWqvK0qOAKFI=
        -----END EC PRIVATE KEY-----

        """
}
