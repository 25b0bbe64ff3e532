import CChatterdSystem
import ChatterdBasics
import Glibc

/// A TCP connection, with or without TLS, on a shard. Confined to its shard.
///
/// The stream reads bytes as they arrive, into a buffer that all streams of the shard share, and lends them to the delegate. It gathers
/// output in a buffer of the shard's pool until the end of the turn.
public final class TCPStream: ReadinessHandler {
    /// The number of bytes, read in one turn, after which the shard sends output and other streams get their turn.
    private static let bytesPerTurn = 64 * 1024
    /// The number of bytes, read at once, after which a stream lets those with fewer bytes go first.
    private static let manyBytes = 16 * 1024

    /// The shard that the stream lives on.
    public let shard: Shard
    public let peer: SocketAddress
    /// The delegate, retained until the stream closes.
    public var delegate: (any TCPStreamDelegate)?

    var descriptor: Int32
    private var registration: Registration?
    let isClient: Bool
    var isConnecting: Bool
    var isReadable = false
    var isWritable = true
    var peerHasClosed = false
    var reachedEnd = false
    var isReadingPaused = false
    /// Whether bytes have arrived that wait for their turn to be read.
    public private(set) var isWaitingToRead = false
    /// Whether the last read found many bytes.
    var readMuch = false
    var isWaitingToFlush = false
    /// Whether output waits for more, and the shard will end the wait.
    var isHeld = false
    var isBlocked = false
    var reportsDrained = false
    var shutsDownWhenDrained = false
    var output: ByteBuffer?
    /// The output behind `output`; `nil` for almost all streams.
    var sharedOutput: SharedOutput?
    /// The number of bytes that the system has accepted since the stream began.
    public internal(set) var sentCount = 0
    var tls: TLSSession?

    private init(descriptor: Int32, peer: SocketAddress, shard: Shard, isClient: Bool) {
        self.descriptor = descriptor
        self.peer = peer
        self.shard = shard
        self.isClient = isClient
        isConnecting = isClient
    }

    deinit {
        if descriptor >= 0 {
            Glibc.close(descriptor)
        }
    }

    /// Adopts an accepted descriptor. With a server's context, a TLS handshake precedes the data. The caller sets the time limit.
    ///
    /// - Throws: `system` if the shard can watch no more descriptors, `tls` if there is no memory.
    public static func adopt(
        _ descriptor: Int32, peer: SocketAddress, on shard: Shard, delegate: any TCPStreamDelegate,
        tls: TLSContext? = nil
    ) throws(SocketError) -> TCPStream {
        _ = csystem_set_nodelay(descriptor)
        let stream = TCPStream(descriptor: descriptor, peer: peer, shard: shard, isClient: false)
        stream.tls = try tls?.accept(descriptor)
        stream.delegate = delegate
        stream.registration = try shard.register(descriptor, handler: stream)
        return stream
    }

    /// Begins to connect; the delegate gets `streamConnected` or `failed`. The caller sets the time limit.
    ///
    /// With a client's context, the certificate of the peer must be valid for `host`, a name or a numeric address.
    ///
    /// - Throws: the error of a connection that the system refuses at once.
    public static func connect(
        to peer: SocketAddress, on shard: Shard, delegate: any TCPStreamDelegate,
        tls: (context: TLSContext, host: String)? = nil
    ) throws(SocketError) -> TCPStream {
        let descriptor = csystem_tcp_socket(peer.family)
        guard descriptor >= 0 else { throw SocketError(errno: Int(descriptor), "socket") }
        let stream = TCPStream(descriptor: descriptor, peer: peer, shard: shard, isClient: true)
        _ = csystem_set_nodelay(descriptor)
        _ = csystem_set_keepalive(descriptor)
        let status = peer.withSockaddr { csystem_connect(descriptor, $0, $1) }
        guard status == 0 || status == -EINPROGRESS else {
            throw SocketError(errno: Int(status), "connect to \(peer)")
        }
        stream.tls = try tls.map { (tls) throws(SocketError) in try tls.context.connect(descriptor, to: tls.host) }
        stream.delegate = delegate
        stream.registration = try shard.register(descriptor, handler: stream)
        return stream
    }

    /// Whether `close` was called or the stream broke.
    public var isClosed: Bool { descriptor < 0 }

    /// Whether a TLS stream ended without the close alert of the peer, so that the received bytes may be incomplete.
    ///
    /// Plain TCP has no such alert. A message with a length or an end mark of its own needs no check.
    public private(set) var isTruncated = false

    var isHandshaking: Bool { tls.map { !$0.isEstablished } ?? false }

    // MARK: - Reading

    /// Stops reading. The bytes of the peer stay with the system, and then with the peer.
    public func pauseReading() {
        isReadingPaused = true
    }

    /// Starts reading again, after the events of this turn.
    public func resumeReading() {
        guard isReadingPaused else { return }
        isReadingPaused = false
        readSoon()
    }

    /// Reads the bytes that wait for their turn, and returns their number. Called by the shard.
    func continueReading() -> Int {
        isWaitingToRead = false
        return read()
    }

    /// Reads the bytes that wait for their turn, if any. A deadline calls this before it reports that the peer is silent.
    public func readWaitingBytes() {
        if isWaitingToRead {
            _ = continueReading()
        }
    }

    func readSoon() {
        guard isReadable, !isWaitingToRead, !isClosed else { return }
        isWaitingToRead = true
        shard.readLater(self)
    }

    /// Reads until the descriptor is empty or other streams get their turn. Returns the number of bytes.
    @discardableResult func read() -> Int {
        var received = 0
        defer { if received > 0 { readMuch = received >= Self.manyBytes } }
        while isReadable, !isReadingPaused, !isClosed {
            if received >= Self.bytesPerTurn {
                readSoon()
                return received
            }
            let count = receive(into: shard.readBuffer)
            switch count {
            case 1...:
                received += count
                // A short read empties the socket, so the next bytes will be reported. The end will not, and TLS may have buffered more.
                isReadable = count == shard.readBuffer.count || peerHasClosed || tls != nil
                delegate?.stream(self, received: UnsafeBufferPointer(rebasing: shard.readBuffer[..<count]).span)
            case 0:
                isReadable = false
                reachedEnd = true
                isTruncated = tls?.isTruncated ?? false
                delegate?.streamReachedEnd(self)
            case -Int(EAGAIN):
                isReadable = false
            default:
                fail(error(count, "receive from \(peer)"))
            }
        }
        return received
    }

    private func receive(into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        guard let tls else { return csystem_recv(descriptor, buffer.baseAddress, buffer.count) }
        return tls.read(into: buffer)
    }

    func error(_ code: Int, _ operation: String) -> SocketError {
        guard code == TLSSession.failure else { return SocketError(errno: code, operation) }
        return SocketError(.tls, "\(operation): \(tls?.reason ?? "TLS")")
    }

    // MARK: - Closing

    /// Closes at once. Unsent output is lost, and the delegate gets no further call.
    public func close() {
        guard !isClosed else { return }
        // The close alert tells the peer that its bytes are complete, so it is sent only if no output is lost.
        if let tls, tls.isEstablished, output == nil, sharedOutput == nil {
            _ = tls.shutdown()
        }
        closeDescriptor()
    }

    private func closeDescriptor() {
        if let registration {
            shard.unregister(registration)
        }
        Glibc.close(descriptor)
        descriptor = -1
        tls = nil
        output = nil
        sharedOutput = nil
        delegate = nil
    }

    /// Closes with a reset, which tells the peer that its bytes may be incomplete.
    public func abort() {
        guard !isClosed else { return }
        _ = csystem_set_reset_on_close(descriptor)
        closeDescriptor()
    }

    /// Passes on the bytes that the peer sent before it broke the connection, which may contain the reason, and then fails.
    func failSending(_ error: SocketError) {
        while !isClosed, !isReadingPaused, !reachedEnd {
            let count = receive(into: shard.readBuffer)
            guard count > 0 else { break }
            delegate?.stream(self, received: UnsafeBufferPointer(rebasing: shard.readBuffer[..<count]).span)
        }
        if !isClosed {
            fail(error)
        }
    }

    func fail(_ error: SocketError) {
        let delegate = delegate
        closeDescriptor()
        delegate?.stream(self, failed: error)
    }
}
