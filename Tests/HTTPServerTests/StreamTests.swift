import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdSockets
import ChatterdTestSupport
import Testing

/// A stream that a test writes to from outside.
private final class Tap: @unchecked Sendable {
    /// Used on the shard only.
    private var stream: ResponseStream?
    let isOpen = Gate()
    let isGone = Gate()
    let isDrained = Gate()

    func open(_ responder: Responder, fields: Fields = [:]) {
        let stream = responder.stream(.ok, fields: fields)
        stream.onClientGone = { [self] in isGone.open() }
        stream.onDrained = { [self] in isDrained.open() }
        self.stream = stream
        isOpen.open()
    }

    func onShard(_ test: TestServer, _ body: @escaping @Sendable (ResponseStream) -> Void) {
        test.shards[0].run { [self] in
            if let stream {
                body(stream)
            }
        }
    }

    func releaseStream(_ test: TestServer) {
        test.shards[0].run { [self] in stream = nil }
    }
}

@Suite(.timeLimit(.minutes(30))) struct StreamTests {
    private func makeServer(_ tap: Tap, limits: Limits = .longTimeouts) throws -> TestServer {
        try TestServer(limits: limits) {
            $0.addUsualRoutes()
            $0.on(.get, "/tap") { _, responder in tap.open(responder) }
        }
    }

    private func open(_ test: TestServer, _ tap: Tap, receiveBuffer: Int? = nil) throws -> RawClient {
        let client = try RawClient(port: test.port, receiveBuffer: receiveBuffer)
        client.request("GET", "/tap")
        #expect(try client.readHead().status == 200)
        #expect(tap.isOpen.wait())
        return client
    }

    @Test func outputOfOneTurnIsOneChunk() async throws {
        let tap = Tap()
        let test = try makeServer(tap)
        try await blocking {
            let client = try open(test, tap)
            tap.onShard(test) { stream in
                for piece in ["a", "b", "c"] {
                    stream.write { $0.append(utf8: piece) }
                }
            }
            #expect(try String(decoding: client.readUntil("c\r\n"), as: UTF8.self) == "000003\r\nabc\r\n")
            // A turn without output writes no chunk, because an empty chunk is the last one.
            tap.onShard(test) { stream in stream.write { _ in } }
            tap.onShard(test) { stream in
                stream.write { $0.append("d") }
                stream.finish()
            }
            let end = "000001\r\nd\r\n0\r\n\r\n"
            #expect(try String(decoding: client.read(end.utf8.count), as: UTF8.self) == end)
            client.request("GET", "/")
            #expect(try client.readResponse().text == "hello")
        }
    }

    @Test func abortedStreamLacksItsEnd() async throws {
        let tap = Tap()
        let test = try makeServer(tap)
        try await blocking {
            let client = try open(test, tap)
            tap.onShard(test) { stream in
                stream.write { $0.append("half") }
                stream.abort()
                #expect(stream.isClosed)
            }
            #expect(String(decoding: client.readBody(), as: UTF8.self) == "half")
            #expect(client.bodyEnd == .cut)
        }
        #expect(try test.records(1)[0].outcome == .aborted)
        #expect(!tap.isGone.isOpen)
    }

    @Test func abortedStreamWithoutChunksIsReset() async throws {
        let tap = Tap()
        let test = try makeServer(tap)
        try await blocking {
            let client = try RawClient(port: test.port)
            client.send("GET /tap HTTP/1.0\r\n\r\n")
            #expect(try client.readHead().status == 200)
            tap.onShard(test) { $0.abort() }
            #expect(client.readToEnd().end == .reset)
        }
    }

    @Test func deallocatedStreamIsAborted() async throws {
        let tap = Tap()
        let test = try makeServer(tap)
        try await blocking {
            let client = try open(test, tap)
            tap.releaseStream(test)
            #expect(client.readBody().isEmpty)
            #expect(client.bodyEnd == .cut)
        }
        #expect(try test.records(1)[0].outcome == .aborted)
    }

    @Test func streamContinuesAfterTheClientHalfClosed() async throws {
        let tap = Tap()
        let test = try makeServer(tap)
        try await blocking {
            let client = try open(test, tap)
            client.halfClose()
            tap.onShard(test) { stream in
                stream.write { $0.append("still here") }
                stream.finish()
            }
            #expect(String(decoding: client.readBody(), as: UTF8.self) == "still here")
            #expect(client.bodyEnd == .complete)
            #expect(client.readToEnd().end == .cut)
        }
        #expect(try test.records(1)[0].outcome == .completed)
        #expect(!tap.isGone.isOpen)
    }

    @Test func killedClientIsNoticedAtTheNextWrite() async throws {
        let tap = Tap()
        let test = try makeServer(tap)
        try await blocking {
            let client = try open(test, tap)
            // Its system ends the direction, and answers further bytes with a reset.
            client.close()
            tap.onShard(test) { stream in stream.write { $0.append("anybody?") } }
            #expect(tap.isGone.wait())
        }
        #expect(try test.records(1)[0].outcome == .clientGone)
    }

    @Test func resetIsNoticedAtOnce() async throws {
        let tap = Tap()
        let test = try makeServer(tap)
        try await blocking {
            let client = try open(test, tap)
            client.reset()
            #expect(tap.isGone.wait())
        }
        let record = try test.records(1)[0]
        #expect(record.outcome == .clientGone)
        #expect(record.route == "/tap")
        tap.onShard(test) { stream in
            #expect(stream.isClosed)
            stream.write { $0.append("in vain") }
            stream.finish()
        }
    }

    @Test func writerIsCalledDuringSilence() async throws {
        let tap = Tap()
        let test = try makeServer(tap)
        try await blocking {
            let client = try open(test, tap)
            tap.onShard(test) { stream in
                // The responder holds the closure, and the tap the stream.
                stream.onSilence(after: .milliseconds(20)) { [unowned stream] in
                    stream.write { $0.append(": keep-alive\n\n") }
                }
            }
            for _ in 0..<3 {
                #expect(client.nextEvent()?.bytes == Array(": keep-alive\n\n".utf8))
            }
        }
    }

    @Test func writerLearnsOfASlowReaderAndOtherReadersAreNotDelayed() async throws {
        let tap = Tap()
        let test = try makeServer(tap)
        let piece = [UInt8](repeating: 120, count: 8 * 1024 * 1024)
        try await blocking {
            let client = try open(test, tap, receiveBuffer: 4096)
            tap.onShard(test) { stream in stream.write { $0.append(piece) } }
            // The others are served meanwhile.
            for _ in 0..<10 {
                #expect(try RawClient.get(port: test.port, "/").text == "hello")
            }
            #expect(!tap.isDrained.isOpen)
            tap.onShard(test) { stream in
                #expect(stream.unsentCount > 0)
                #expect(!stream.isClosed)
            }
            var count = 0
            while count < piece.count {
                // The chunk's size and line ends count too; they are few.
                guard case .bytes(let bytes) = client.connection.receive() else { break }
                count += bytes.count
            }
            #expect(tap.isDrained.wait())
            tap.onShard(test) { $0.finish() }
        }
        #expect(try test.records(11).count == 11)
    }

    @Test func stalledReaderOfMuchOutputIsCutOff() async throws {
        let tap = Tap()
        let test = try makeServer(tap)
        let piece = [UInt8](repeating: 120, count: 8 * 1024 * 1024)
        try await blocking {
            let client = try open(test, tap, receiveBuffer: 4096)
            tap.onShard(test) { stream in stream.write { $0.append(piece) } }
            // The first byte shows that the turn has sent as much as it could.
            _ = try client.read(1)
            tap.onShard(test) { stream in stream.write { $0.append("one more") } }
            #expect(tap.isGone.wait())
            #expect(client.readToEnd().end == .reset)
        }
        #expect(try test.records(1)[0].outcome == .clientGone)
    }

    @Test(arguments: [5, 17, 40])
    func longTurnIsSplitIntoChunks(mebibytes: Int) async throws {
        let tap = Tap()
        var limits = Limits.longTimeouts
        limits.unsentOutput = 1 << 30
        let test = try makeServer(tap, limits: limits)
        let piece = [UInt8](repeating: 120, count: mebibytes * 1024 * 1024)
        try await blocking {
            let client = try open(test, tap)
            tap.onShard(test) { stream in
                for _ in 0..<4 {
                    stream.write { $0.append(piece) }
                }
                stream.finish()
            }
            #expect(client.readBody().count == 4 * piece.count)
            #expect(client.bodyEnd == .complete)
        }
    }

    @Test func unsentOutputIsBoundedWithinOneTurn() async throws {
        let bound = 64 * 1024
        var limits = Limits.longTimeouts
        limits.unsentOutput = bound
        let tap = Tap()
        let test = try makeServer(tap, limits: limits)
        try await blocking {
            let client = try open(test, tap)
            let most = Lock(0)
            let isWritten = Gate()
            tap.onShard(test) { stream in
                for _ in 0..<1000 {
                    stream.write { $0.append([UInt8](repeating: 120, count: 4096)) }
                    let unsent = stream.unsentCount
                    most.withLock { $0 = max($0, unsent) }
                }
                #expect(stream.isClosed)
                isWritten.open()
            }
            #expect(isWritten.wait())
            #expect(tap.isGone.wait())
            #expect(most.withLock { $0 } <= bound + 4096 + 1024)
            #expect(client.readToEnd().end != .complete)
        }
    }
}
