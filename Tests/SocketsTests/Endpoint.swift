import ChatterdSockets
import ChatterdTestSupport
import Testing

/// The events of a stream.
struct StreamRecord: Sendable {
    var isConnected = false
    var bytes: [UInt8] = []
    var reads = 0
    var hasEnded = false
    var isTruncated = false
    var blocked = 0
    var drained = 0
    var error: SocketError?

    var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// One end of a connection on a shard, driven from the test's thread.
final class Endpoint: TCPStreamDelegate, @unchecked Sendable {
    let record = Monitor(StreamRecord())
    let shard: Shard
    /// Used on the shard.
    private(set) var stream: TCPStream?
    private let onBytes: (@Sendable (TCPStream, Span<UInt8>) -> Void)?

    private init(_ shard: Shard, _ onBytes: (@Sendable (TCPStream, Span<UInt8>) -> Void)?) {
        self.shard = shard
        self.onBytes = onBytes
    }

    /// Connects to a port of 127.0.0.1.
    static func connect(
        port: Int, on shard: Shard, tls: (context: TLSContext, host: String)? = nil,
        onBytes: (@Sendable (TCPStream, Span<UInt8>) -> Void)? = nil
    ) throws -> Endpoint {
        let address = try #require(SocketAddress(numericHost: "127.0.0.1", port: UInt16(port)))
        let endpoint = Endpoint(shard, onBytes)
        shard.runAndWait {
            do throws(SocketError) {
                endpoint.stream = try TCPStream.connect(to: address, on: shard, delegate: endpoint, tls: tls)
            } catch {
                endpoint.record.withLock { $0.error = error }
            }
        }
        return endpoint
    }

    /// Adopts an accepted descriptor; called on the shard.
    static func adopt(
        _ descriptor: Int32, _ peer: SocketAddress, on shard: Shard, tls: TLSContext?,
        onBytes: (@Sendable (TCPStream, Span<UInt8>) -> Void)?
    ) -> Endpoint {
        let endpoint = Endpoint(shard, onBytes)
        do throws(SocketError) {
            endpoint.stream = try TCPStream.adopt(descriptor, peer: peer, on: shard, delegate: endpoint, tls: tls)
        } catch {
            endpoint.record.withLock { $0.error = error }
        }
        return endpoint
    }

    /// Runs `body` with the stream on the shard, and waits for it.
    func use(_ body: @escaping @Sendable (TCPStream) -> Void) {
        shard.runAndWait {
            if let stream = self.stream { body(stream) }
        }
    }

    func send(_ bytes: [UInt8]) {
        use { $0.write(bytes.span) }
    }

    func send(_ text: String) {
        send(Array(text.utf8))
    }

    /// Waits until the record fulfils a condition, and returns it.
    @discardableResult
    func wait(_ what: String, until condition: (StreamRecord) -> Bool) throws -> StreamRecord {
        guard let record = record.wait(until: { condition($0) ? $0 : nil }) else {
            let now = record.withLock { $0 }
            throw TestFailure(
                "timeout: \(what); \(now.bytes.count) bytes, ended \(now.hasEnded), error \(String(describing: now.error))"
            )
        }
        return record
    }

    func waitForError() throws -> SocketError {
        try #require(try wait("an error") { $0.error != nil }.error)
    }

    func close() {
        use { $0.close() }
    }

    // MARK: - TCPStreamDelegate

    func streamConnected(_ stream: TCPStream) {
        record.withLock { $0.isConnected = true }
    }

    func stream(_ stream: TCPStream, received bytes: Span<UInt8>) {
        record.withLock { record in
            bytes.withUnsafeBufferPointer { record.bytes += $0 }
            record.reads += 1
        }
        onBytes?(stream, bytes)
    }

    func streamReachedEnd(_ stream: TCPStream) {
        record.withLock {
            $0.hasEnded = true
            $0.isTruncated = stream.isTruncated
        }
    }

    func streamBlocked(_ stream: TCPStream) {
        record.withLock { $0.blocked += 1 }
    }

    func streamDrained(_ stream: TCPStream) {
        record.withLock { $0.drained += 1 }
    }

    func stream(_ stream: TCPStream, failed error: SocketError) {
        record.withLock { $0.error = error }
    }
}

extension Shard {
    /// Runs a block on the shard and waits for it.
    func runAndWait(_ body: @escaping @Sendable () -> Void) {
        let done = Gate()
        run {
            body()
            done.open()
        }
        precondition(done.wait(upTo: 600), "the shard hangs")
    }
}
