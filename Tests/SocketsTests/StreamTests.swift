import ChatterdBasics
import ChatterdSockets
import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct StreamTests {
    let shard: Shard

    init() throws {
        shard = try TestShard.any()
    }

    @Test func bytesGoBothWaysAndBothEndsAreReported() async throws {
        try await blocking { [shard] in
            let server = try TestServer(on: shard, onBytes: TestServer.echo)
            let client = try Endpoint.connect(port: server.port, on: shard)
            client.send("hello")
            try client.wait("the echo") { $0.text == "hello" }
            client.use { $0.shutdownWriting() }
            let served = try server.connection(0)
            try served.wait("the client's end") { $0.hasEnded }
            served.send("after the other's end")
            served.use { $0.shutdownWriting() }
            let record = try client.wait("the server's end") { $0.hasEnded }
            #expect(record.text == "helloafter the other's end")
            client.close()
            served.close()
        }
    }

    @Test func pausedReaderBlocksTheWriter() async throws {
        try await blocking { [shard] in
            let server = try TestServer(on: shard)
            let client = try Endpoint.connect(port: server.port, on: shard)
            let served = try server.connection(0)
            served.use { $0.pauseReading() }
            let bytes = [UInt8](repeating: 7, count: 32 * 1024 * 1024)
            client.send(bytes)
            try client.wait("the system accepts no more bytes") { $0.blocked == 1 }
            #expect(client.record.withLock { $0.drained } == 0)
            let unsent = Monitor(0)
            client.use { stream in unsent.withLock { $0 = stream.unsentCount } }
            #expect(unsent.withLock { $0 } > 0)
            served.use { $0.resumeReading() }
            try client.wait("all is sent") { $0.drained == 1 }
            let record = try served.wait("all bytes have arrived") { $0.bytes.count == bytes.count }
            #expect(record.bytes == bytes)
        }
    }

    @Test func outputOfOneTurnIsSentTogether() async throws {
        try await blocking { [shard] in
            let server = try TestServer(on: shard)
            let client = try Endpoint.connect(port: server.port, on: shard)
            try client.wait("the connection") { $0.isConnected }
            client.use { stream in
                for _ in 0..<1000 {
                    stream.write(Array("ten bytes.".utf8).span)
                }
            }
            let record = try server.connection(0).wait("all bytes have arrived") { $0.bytes.count == 10_000 }
            #expect(record.reads <= 2)
        }
    }

    @Test func heldOutputLeavesWithoutAnotherWrite() async throws {
        try await blocking { [shard] in
            let server = try TestServer(on: shard)
            let client = try Endpoint.connect(port: server.port, on: shard)
            client.use { stream in stream.hold { $0.append("held") } }
            let record = try server.connection(0).wait("the held bytes") { $0.bytes.count == 4 }
            #expect(record.text == "held")
        }
    }

    @Test func heldOutputPrecedesTheNextWrite() async throws {
        try await blocking { [shard] in
            let server = try TestServer(on: shard)
            let client = try Endpoint.connect(port: server.port, on: shard)
            try client.wait("the connection") { $0.isConnected }
            client.use { stream in
                stream.hold { $0.append("first, ") }
                stream.hold { $0.append("second, ") }
            }
            client.send("third")
            let record = try server.connection(0).wait("all bytes") { $0.bytes.count == 20 }
            #expect(record.text == "first, second, third")
        }
    }

    @Test func heldOutputAndTheNextWriteOfATurnAreSentTogether() async throws {
        try await blocking { [shard] in
            let server = try TestServer(on: shard)
            let client = try Endpoint.connect(port: server.port, on: shard)
            try client.wait("the connection") { $0.isConnected }
            client.use { stream in
                stream.hold { $0.append("first, ") }
                stream.write { $0.append("second") }
            }
            let record = try server.connection(0).wait("all bytes") { $0.bytes.count == 13 }
            #expect(record.reads == 1)
        }
    }

    @Test func resetIsAnError() async throws {
        try await blocking { [shard] in
            let server = try TestServer(on: shard)
            let raw = try TCPConnection.connect(port: server.port)
            raw.send("x")
            let served = try server.connection(0)
            try served.wait("a byte") { $0.text == "x" }
            raw.reset()
            #expect(try served.waitForError().code == .reset)
        }
    }

    @Test func abortIsAResetForThePeer() async throws {
        try await blocking { [shard] in
            let server = try TestServer(on: shard, onBytes: { stream, _ in stream.abort() })
            let raw = try TCPConnection.connect(port: server.port)
            raw.send("x")
            #expect(raw.receive() == .reset)
        }
    }

    @Test func bytesBeforeABrokenWriteAreDelivered() async throws {
        try await blocking { [shard] in
            let server = try TestServer(
                on: shard,
                onBytes: { stream, _ in
                    stream.write(Array("no".utf8).span)
                    stream.reportDrained()
                })
            let proxy = try ByteProxy(to: server.port, piece: 1024)
            let client = try Endpoint.connect(port: proxy.port, on: shard)
            client.send("x")
            try client.wait("the answer") { $0.text == "no" }
            proxy.cut()
            try client.wait("the end") { $0.hasEnded }
            client.send([UInt8](repeating: 0, count: 1024 * 1024))
            client.send([UInt8](repeating: 0, count: 1024 * 1024))
            #expect(try client.waitForError().code == .reset)
        }
    }

    @Test func closedStreamCallsNoDelegate() async throws {
        try await blocking { [shard] in
            let server = try TestServer(on: shard)
            let client = try Endpoint.connect(port: server.port, on: shard)
            try client.wait("the connection") { $0.isConnected }
            client.use { stream in
                stream.write(Array("lost".utf8).span)
                stream.close()
                stream.close()
                stream.write(Array("lost".utf8).span)
                stream.resumeReading()
                stream.shutdownWriting()
            }
            let served = try server.connection(0)
            #expect(try served.wait("the end") { $0.hasEnded }.bytes.isEmpty)
            served.send("late")
            shard.runAndWait {}
            #expect(client.record.withLock { $0.bytes.isEmpty && !$0.hasEnded && $0.error == nil })
        }
    }

    @Test func refusedAndUnreachableAddressesHaveTheirErrors() async throws {
        try await blocking { [shard] in
            let port = try BoundPort.refusing()
            let client = try Endpoint.connect(port: port.port, on: shard)
            #expect(try client.waitForError().code == .refused)
        }
    }

    @Test func busyStreamLeavesOthersTheirTurn() async throws {
        try await blocking { [shard] in
            // The flood gets no echo, because the server would have to keep the unread part of it.
            let server = try TestServer(
                on: shard,
                onBytes: { stream, bytes in
                    if bytes.count == 1 { stream.write(bytes) }
                })
            let flood = try TCPConnection.connect(port: server.port)
            let stop = Gate()
            startThread {
                let bytes = [UInt8](repeating: 1, count: 1024 * 1024)
                while flood.send(bytes, unless: stop), !stop.isOpen {}
            }
            let client = try Endpoint.connect(port: server.port, on: shard)
            for number in 1...20 {
                client.send("x")
                try client.wait("an echo beside the flood") { $0.bytes.count == number }
            }
            stop.open()
        }
    }

    @Test func streamWithFewBytesIsReadBeforeMostOfThoseWithMany() async throws {
        let shard = try #require(try Shard.makeAll(count: 1).first)
        try await blocking {
            // The counts of the pieces of input, in order.
            let pieces = Monitor<[Int]>([])
            let server = try TestServer(on: shard, onBytes: { _, bytes in pieces.withLock { $0.append(bytes.count) } })
            let floods = try (0..<16).map { _ in try TCPConnection.connect(port: server.port) }
            let client = try TCPConnection.connect(port: server.port)
            _ = try server.connection(16)
            let many = [UInt8](repeating: 1, count: 32 * 1024)
            func sendWhileHeld(_ few: [UInt8]) {
                let (reached, gate) = (Gate(), Gate())
                shard.run {
                    reached.open()
                    gate.wait(upTo: 600)
                }
                reached.wait()
                for flood in floods { flood.send(many) }
                client.send(few)
                gate.open()
            }
            sendWhileHeld([])
            _ = pieces.wait { $0.reduce(0, +) == 16 * many.count ? true : nil }
            sendWhileHeld([120])
            let all = try #require(pieces.wait { $0.reduce(0, +) == 32 * many.count + 1 ? $0 : nil })
            let few = try #require(all.firstIndex(of: 1))
            #expect(all[..<few].reduce(0, +) - 16 * many.count <= 5 * many.count)
        }
    }
}
