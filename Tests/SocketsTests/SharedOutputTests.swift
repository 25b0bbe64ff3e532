import ChatterdBasics
import ChatterdSockets
import ChatterdTestSupport
import Testing

/// Output that is sent from where it is.
@Suite(.timeLimit(.minutes(30))) struct SharedOutputTests {
    let shard: Shard

    init() throws {
        shard = try TestShard.any()
    }

    private func part(_ byte: UInt8, _ count: Int) -> SharedBytes {
        var buffer = ByteBuffer()
        buffer.append([UInt8](repeating: byte, count: count))
        return SharedBytes(buffer)
    }

    @Test func partsAndWrittenBytesKeepTheirOrder() async throws {
        try await blocking { [shard] in
            let server = try TestServer(on: shard)
            let client = try Endpoint.connect(port: server.port, on: shard)
            let served = try server.connection(0)
            served.use { $0.pauseReading() }
            let sizes = [1, 20_000, 100, 8 << 20, 30_000, 16_384, 16_383, 70_000]
            var expected: [UInt8] = []
            for (index, size) in sizes.enumerated() {
                expected += [UInt8](repeating: UInt8(index), count: size)
                expected += Array("written \(index);".utf8)
            }
            let parts = sizes.enumerated().map { part(UInt8($0), $1) }
            let unsent = Monitor(0)
            client.use { stream in
                for (index, part) in parts.enumerated() {
                    stream.write(sharing: part)
                    stream.write(Array("written \(index);".utf8).span)
                }
                stream.reportDrained()
                unsent.withLock { $0 = stream.unsentCount }
            }
            // The peer does not read, so the system accepts only a part.
            try client.wait("the system accepts no more bytes") { $0.blocked == 1 }
            #expect(unsent.withLock { $0 } == expected.count)
            served.use { $0.resumeReading() }
            try client.wait("all is sent") { $0.drained == 1 }
            let record = try served.wait("all bytes have arrived") { $0.bytes.count == expected.count }
            #expect(record.bytes == expected)
            client.use { stream in unsent.withLock { $0 = stream.unsentCount - stream.sentCount } }
            try client.wait("the count") { _ in unsent.withLock { $0 } == -expected.count }
        }
    }

    @Test func closedStreamAcceptsNoPart() async throws {
        try await blocking { [shard] in
            let server = try TestServer(on: shard)
            let client = try Endpoint.connect(port: server.port, on: shard)
            try client.wait("the connection") { $0.isConnected }
            let unsent = Monitor(-1)
            let part = part(1, 100_000)
            client.use { stream in
                stream.write(sharing: part)
                stream.close()
                stream.write(sharing: part)
                unsent.withLock { $0 = stream.unsentCount }
            }
            _ = try server.connection(0).wait("the end") { $0.hasEnded }
            #expect(unsent.withLock { $0 } == 0)
        }
    }
}
