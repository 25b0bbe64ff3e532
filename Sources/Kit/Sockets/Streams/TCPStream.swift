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

    private var descriptor: Int32
    private var registration: Registration?
    private let isClient: Bool
    private var isConnecting: Bool
    private var isReadable = false
    private var isWritable = true
    private var peerHasClosed = false
    private var reachedEnd = false
    private var isReadingPaused = false
    /// Whether bytes have arrived that wait for their turn to be read.
    public private(set) var isWaitingToRead = false
    /// Whether the last read found many bytes.
    private var readMuch = false
    private var isWaitingToFlush = false
    /// Whether output waits for more, and the shard will end the wait.
    private var isHeld = false
    private var isBlocked = false
    private var reportsDrained = false
    private var shutsDownWhenDrained = false
    private var output: ByteBuffer?
    /// The output behind `output`; `nil` for almost all streams.
    private var sharedOutput: SharedOutput?
    private var tls: TLSSession?

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

    private var isHandshaking: Bool { tls.map { !$0.isEstablished } ?? false }

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

    private func readSoon() {
        guard isReadable, !isWaitingToRead, !isClosed else { return }
        isWaitingToRead = true
        shard.readLater(self)
    }

    /// Reads until the descriptor is empty or other streams get their turn. Returns the number of bytes.
    @discardableResult private func read() -> Int {
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

    private func error(_ code: Int, _ operation: String) -> SocketError {
        guard code == TLSSession.failure else { return SocketError(errno: code, operation) }
        return SocketError(.tls, "\(operation): \(tls?.reason ?? "TLS")")
    }

    // MARK: - Writing

    /// The number of bytes that the system has not accepted yet.
    public var unsentCount: Int { (output?.count ?? 0) + (sharedOutput?.count ?? 0) }

    /// The number of bytes that the system has accepted since the stream began.
    public private(set) var sentCount = 0

    /// The number of bytes that the system has accepted since the stream began, those of TLS itself included as long as it is open.
    public var transmittedCount: Int { tls?.sentCount ?? sentCount }

    /// The number of transmitted bytes that the peer's system has not acknowledged; `nil` if the stream is closed or the system cannot
    /// tell. After a reset, it includes bytes that the peer accepted before the reset.
    public var unacknowledgedCount: Int? {
        let count = csystem_tcp_unacknowledged(descriptor)
        return count < 0 ? nil : Int(count)
    }

    /// Lets `body` append to the output, which is sent at the end of the turn.
    @inline(__always)
    public func write(_ body: (inout ByteBuffer) -> Void) {
        guard !isClosed else { return }
        append(body)
        flushSoon()
    }

    /// Lets `body` append to the output, which is sent with what is written within 5 ms, or then.
    public func hold(_ body: (inout ByteBuffer) -> Void) {
        guard !isClosed else { return }
        append(body)
        guard !isHeld, !isWaitingToFlush else { return }
        isHeld = true
        shard.hold(self)
    }

    /// Sends the output that waits, if it has not been sent. Called by the shard.
    func endHold() {
        guard isHeld else { return }
        isHeld = false
        flushSoon()
    }

    @inline(__always)
    private func append(_ body: (inout ByteBuffer) -> Void) {
        if let sharedOutput {
            sharedOutput.write(body)
            return
        }
        var buffer = output.take() ?? shard.acquireBuffer()
        body(&buffer)
        output = consume buffer
    }

    /// Appends bytes to the output, which is sent at the end of the turn.
    public func write(_ bytes: Span<UInt8>) {
        write { $0.append(bytes) }
    }

    /// Appends bytes to the output, which is sent at the end of the turn. A large part is not copied.
    public func write(sharing part: SharedBytes) {
        guard part.count >= SharedOutput.partSize else {
            write(part.bytes)
            return
        }
        guard !isClosed else { return }
        let shared = sharedOutput ?? SharedOutput()
        shared.append(part)
        sharedOutput = shared
        flushSoon()
    }

    /// Calls `streamDrained` of the delegate once the output so far is sent, at the end of this turn at the earliest.
    public func reportDrained() {
        guard !isClosed else { return }
        reportsDrained = true
        flushSoon()
    }

    /// Ends this direction once all output is sent, and then calls `streamDrained`.
    public func shutdownWriting() {
        guard !isClosed else { return }
        shutsDownWhenDrained = true
        reportDrained()
    }

    private func flushSoon() {
        guard !isWaitingToFlush else { return }
        isWaitingToFlush = true
        shard.flushLater(self)
    }

    /// Sends as much output as the system accepts. Called by the shard at the end of the turn.
    func flush() {
        guard !isClosed, !isConnecting, !isHandshaking else {
            isWaitingToFlush = false
            return
        }
        delegate?.streamWillFlush(self)
        // Reset after the call, because bytes that the delegate appends belong to this flush.
        isWaitingToFlush = false
        isHeld = false
        guard !isClosed else { return }
        // Moved out, so that appending and sending never copy the buffer.
        guard var buffer = output.take() else {
            flushSharedOutput()
            return
        }
        while isWritable, !buffer.isEmpty {
            let sent = buffer.bytes.withUnsafeBufferPointer { send($0) }
            guard noteSent(sent) else { return }
            buffer.removeFirst(max(sent, 0))
        }
        if buffer.isEmpty {
            // Consumed, because emptying a copy would allocate another buffer.
            shard.releaseBuffer(consume buffer)
            flushSharedOutput()
        } else {
            output = consume buffer
            reportBlocked()
        }
    }

    private func flushSharedOutput() {
        if let sharedOutput {
            while isWritable, !sharedOutput.isEmpty {
                guard noteSent(sharedOutput.sendNext { send($0) }) else { return }
            }
            guard sharedOutput.isEmpty else {
                reportBlocked()
                return
            }
            self.sharedOutput = nil
        }
        finishFlush()
    }

    /// Notes the result of a send. Returns `false` if the stream broke.
    private func noteSent(_ sent: Int) -> Bool {
        if sent >= 0 {
            sentCount += sent
        } else if sent == -Int(EAGAIN) {
            isWritable = false
        } else {
            failSending(error(sent, "send to \(peer)"))
            return false
        }
        return true
    }

    private func reportBlocked() {
        guard !isBlocked else { return }
        isBlocked = true
        delegate?.streamBlocked(self)
    }

    private func send(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        guard let tls else { return csystem_send(descriptor, bytes.baseAddress, bytes.count) }
        return tls.write(bytes)
    }

    private func finishFlush() {
        if shutsDownWhenDrained {
            if let tls, tls.shutdown() == -Int(EAGAIN) {
                isWritable = false
                return
            }
            shutsDownWhenDrained = false
            Glibc.shutdown(descriptor, Int32(SHUT_WR))
        }
        if isBlocked || reportsDrained {
            isBlocked = false
            reportsDrained = false
            delegate?.streamDrained(self)
        }
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
    private func failSending(_ error: SocketError) {
        while !isClosed, !isReadingPaused, !reachedEnd {
            let count = receive(into: shard.readBuffer)
            guard count > 0 else { break }
            delegate?.stream(self, received: UnsafeBufferPointer(rebasing: shard.readBuffer[..<count]).span)
        }
        if !isClosed {
            fail(error)
        }
    }

    private func fail(_ error: SocketError) {
        let delegate = delegate
        closeDescriptor()
        delegate?.stream(self, failed: error)
    }

    // MARK: - Readiness

    /// Reads and writes as far as the descriptor allows. Called by the shard.
    public func becameReady(_ readiness: Readiness) {
        if isConnecting {
            guard finishConnecting(readiness) else { return }
        }
        if !readiness.isDisjoint(with: [.peerClosed, .hangUp, .failed]) {
            peerHasClosed = true
        }
        // No read finds this reset, because reading is paused or the end has been read already.
        if readiness.contains(.failed), reachedEnd || isReadingPaused {
            let error = csystem_socket_error(descriptor)
            if error != 0 {
                fail(SocketError(errno: -Int(error), "connection to \(peer)"))
                return
            }
        }
        if let tls {
            becameReady(readiness, tls)
            return
        }
        if readiness.contains(.writable), !isWritable {
            becameWritable()
        }
        if readiness.mayBeRead, !reachedEnd {
            becameReadable()
        }
    }

    private func becameReadable() {
        isReadable = true
        // The owner of a connection to a server may use it in this turn, and must know what has arrived.
        if readMuch, !isClient {
            readSoon()
        } else {
            read()
        }
    }

    private func becameWritable() {
        isWritable = true
        if output != nil || sharedOutput != nil || shutsDownWhenDrained {
            flushSoon()
        }
    }

    /// Reads the result of `connect`. Returns `false` if there is none yet, or if it is a failure.
    private func finishConnecting(_ readiness: Readiness) -> Bool {
        guard !readiness.isDisjoint(with: [.writable, .failed, .hangUp]) else { return false }
        let error = csystem_socket_error(descriptor)
        guard error == 0 else {
            fail(SocketError(errno: -Int(error), "connect to \(peer)"))
            return false
        }
        isConnecting = false
        if tls == nil {
            delegate?.streamConnected(self)
            flushSoon()
        }
        return true
    }

    /// Handles the readiness of a TLS stream. TLS may have to write before it can read, and vice versa.
    private func becameReady(_ readiness: Readiness, _ tls: TLSSession) {
        if readiness.mayBeRead {
            tls.becameReadable(isLast: peerHasClosed)
        }
        if isHandshaking {
            continueHandshake(tls)
            return
        }
        if readiness.contains(.writable) && !isWritable || readiness.mayBeRead && tls.writeWaitsForPeer {
            becameWritable()
        }
        if readiness.mayBeRead || readiness.contains(.writable) && tls.readWaitsForRoom, !reachedEnd {
            becameReadable()
        }
    }

    private func continueHandshake(_ tls: TLSSession) {
        let result = tls.handshake()
        guard result == 1 else {
            if result != -Int(EAGAIN) {
                fail(SocketError(.tls, "TLS with \(peer): \(tls.reason)"))
            }
            return
        }
        if isClient {
            delegate?.streamConnected(self)
        }
        flushSoon()
        // The peer may have sent data with the end of its handshake; no further edge reports them.
        isReadable = true
        read()
    }
}

extension Readiness {
    /// Whether a read will find bytes, an end or an error.
    fileprivate var mayBeRead: Bool { !isDisjoint(with: [.readable, .peerClosed, .hangUp, .failed]) }
}
