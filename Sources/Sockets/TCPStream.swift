import Bytes
import CSystem
import Glibc

/// Whoever uses a stream; all calls come on the stream's shard.
public protocol TCPStreamDelegate: AnyObject {
    /// The connection that `connect` began stands.
    func streamConnected(_ stream: TCPStream)
    /// Bytes came in; they are lent for the duration of the call.
    func stream(_ stream: TCPStream, received bytes: Span<UInt8>)
    /// The peer will send nothing more; writing may go on.
    func streamReachedEnd(_ stream: TCPStream)
    /// The turn's output is about to be sent: the last moment to complete it.
    func streamWillFlush(_ stream: TCPStream)
    /// The system took less than there was to send; `streamDrained` follows once it has taken the rest.
    func streamBlocked(_ stream: TCPStream)
    /// All output is with the system, after `streamBlocked`, `shutdownWriting` or `reportDrained`.
    func streamDrained(_ stream: TCPStream)
    /// The stream broke; it is closed already, and says nothing more.
    func stream(_ stream: TCPStream, failed error: SocketError)
}

extension TCPStreamDelegate {
    /// Does nothing.
    public func streamConnected(_ stream: TCPStream) {}
    /// Does nothing.
    public func streamWillFlush(_ stream: TCPStream) {}
    /// Does nothing.
    public func streamBlocked(_ stream: TCPStream) {}
    /// Does nothing.
    public func streamDrained(_ stream: TCPStream) {}
}

/// A TCP connection, with or without TLS, on a shard. Confined to its shard.
///
/// Bytes are read as they come, into a buffer that all streams of the shard share, and lent to the delegate. Output gathers in a
/// buffer of the shard's pool until the end of the turn. The delegate is kept alive until the stream is closed.
public final class TCPStream: ReadinessHandler, @unchecked Sendable {
    /// How many reads a stream may do before others get their turn.
    private static let readsPerTurn = 4

    /// The shard that the stream lives on.
    public let shard: Shard
    /// The peer.
    public let peer: SocketAddress
    /// Whoever is told; until the stream is closed.
    public var delegate: (any TCPStreamDelegate)?

    private var descriptor: Int32
    private var registration: Registration?
    private var isConnecting: Bool
    private var isReadable = false
    private var isWritable = true
    private var peerHasClosed = false
    private var reachedEnd = false
    private var isReadingPaused = false
    private var isWaitingToRead = false
    private var isWaitingToFlush = false
    private var isBlocked = false
    private var reportsDrained = false
    private var shutsDownWhenDrained = false
    private var output: ByteBuffer?

    private init(descriptor: Int32, peer: SocketAddress, shard: Shard, isConnecting: Bool) {
        self.descriptor = descriptor
        self.peer = peer
        self.shard = shard
        self.isConnecting = isConnecting
    }

    deinit {
        if descriptor >= 0 {
            Glibc.close(descriptor)
        }
    }

    /// Takes over an accepted descriptor.
    ///
    /// - Throws: `system` when the shard can watch no more.
    public static func adopt(
        _ descriptor: Int32, peer: SocketAddress, on shard: Shard, delegate: any TCPStreamDelegate
    ) throws(SocketError) -> TCPStream {
        _ = csystem_set_nodelay(descriptor)
        let stream = TCPStream(descriptor: descriptor, peer: peer, shard: shard, isConnecting: false)
        stream.delegate = delegate
        stream.registration = try shard.register(descriptor, handler: stream)
        return stream
    }

    /// Begins to connect; the delegate hears `streamConnected` or `failed`. The time limit is the caller's.
    ///
    /// - Throws: what the system refuses at once.
    public static func connect(
        to peer: SocketAddress, on shard: Shard, delegate: any TCPStreamDelegate
    ) throws(SocketError) -> TCPStream {
        let descriptor = csystem_tcp_socket(peer.family)
        guard descriptor >= 0 else { throw SocketError(errno: Int(descriptor), "socket") }
        let stream = TCPStream(descriptor: descriptor, peer: peer, shard: shard, isConnecting: true)
        _ = csystem_set_nodelay(descriptor)
        _ = csystem_set_keepalive(descriptor)
        let status = peer.withSockaddr { csystem_connect(descriptor, $0, $1) }
        guard status == 0 || status == -EINPROGRESS else {
            throw SocketError(errno: Int(status), "connect to \(peer)")
        }
        stream.delegate = delegate
        stream.registration = try shard.register(descriptor, handler: stream)
        return stream
    }

    /// Whether `close` was called or the stream broke.
    public var isClosed: Bool { descriptor < 0 }

    // MARK: - Reading

    /// Stops reading; what the peer sends stays with the system, and in the end with the peer.
    public func pauseReading() {
        isReadingPaused = true
    }

    /// Goes on reading, after the events of this turn.
    public func resumeReading() {
        guard isReadingPaused else { return }
        isReadingPaused = false
        readSoon()
    }

    /// Called by the shard when it is this stream's turn again.
    func continueReading() {
        isWaitingToRead = false
        read()
    }

    private func readSoon() {
        guard isReadable, !isWaitingToRead, !isClosed else { return }
        isWaitingToRead = true
        shard.readLater(self)
    }

    private func read() {
        var reads = 0
        while isReadable, !isReadingPaused, !isClosed {
            if reads == Self.readsPerTurn {
                readSoon()
                return
            }
            reads += 1
            let count = receive(into: shard.readBuffer)
            switch count {
            case 1...:
                // Less than asked for, and no end in sight: the next bytes will be reported.
                isReadable = count == shard.readBuffer.count || peerHasClosed
                delegate?.stream(self, received: UnsafeBufferPointer(rebasing: shard.readBuffer[..<count]).span)
            case 0:
                isReadable = false
                reachedEnd = true
                delegate?.streamReachedEnd(self)
            case -Int(EAGAIN):
                isReadable = false
            default:
                fail(SocketError(errno: count, "receive from \(peer)"))
            }
        }
    }

    private func receive(into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        csystem_recv(descriptor, buffer.baseAddress, buffer.count)
    }

    // MARK: - Writing

    /// The bytes that the system has not taken yet.
    public var unsentCount: Int { output?.count ?? 0 }

    /// The bytes that the system has taken since the stream began.
    public private(set) var sentCount = 0

    /// Lets `body` append to the output, which is sent at the end of the turn.
    @inline(__always)
    public func write(_ body: (inout ByteBuffer) -> Void) {
        guard !isClosed else { return }
        var buffer = output.take() ?? shard.takeBuffer()
        body(&buffer)
        output = consume buffer
        flushSoon()
    }

    /// Appends bytes to the output, which is sent at the end of the turn.
    public func write(_ bytes: Span<UInt8>) {
        write { $0.append(bytes) }
    }

    /// Has the delegate hear `streamDrained` once the output so far is sent, at the end of this turn at the earliest.
    public func reportDrained() {
        guard !isClosed else { return }
        reportsDrained = true
        flushSoon()
    }

    /// Ends this side's direction once all output is sent, and then tells `streamDrained`.
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

    /// Sends what can be sent; the shard calls it at the end of the turn.
    func flush() {
        guard !isClosed, !isConnecting else {
            isWaitingToFlush = false
            return
        }
        delegate?.streamWillFlush(self)
        // Only now, as what the delegate adds is part of this flush.
        isWaitingToFlush = false
        guard !isClosed else { return }
        // Taken out, so that appending and sending never copy it.
        guard var buffer = output.take() else {
            finishFlush()
            return
        }
        while isWritable, !buffer.isEmpty {
            let sent = buffer.bytes.withUnsafeBufferPointer { send($0) }
            if sent >= 0 {
                buffer.removeFirst(sent)
                sentCount += sent
            } else if sent == -Int(EAGAIN) {
                isWritable = false
            } else {
                failSending(SocketError(errno: sent, "send to \(peer)"))
                return
            }
        }
        if buffer.isEmpty {
            shard.giveBack(buffer)
            finishFlush()
        } else {
            output = consume buffer
            if !isBlocked {
                isBlocked = true
                delegate?.streamBlocked(self)
            }
        }
    }

    private func send(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        csystem_send(descriptor, bytes.baseAddress, bytes.count)
    }

    private func finishFlush() {
        if shutsDownWhenDrained {
            shutsDownWhenDrained = false
            Glibc.shutdown(descriptor, Int32(SHUT_WR))
        }
        if isBlocked || reportsDrained {
            isBlocked = false
            reportsDrained = false
            delegate?.streamDrained(self)
        }
    }

    // MARK: - Ends

    /// Closes at once; unsent output is lost, and the delegate hears nothing more.
    public func close() {
        guard !isClosed else { return }
        if let registration {
            shard.unregister(registration)
        }
        Glibc.close(descriptor)
        descriptor = -1
        output = nil
        delegate = nil
    }

    /// Closes with a reset, so that the peer cannot take what it got for complete.
    public func abort() {
        guard !isClosed else { return }
        _ = csystem_set_reset_on_close(descriptor)
        close()
    }

    /// Hands on what the peer said before it broke the connection off: it may say why.
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
        close()
        delegate?.stream(self, failed: error)
    }

    /// Called by the shard.
    public func becameReady(_ readiness: Readiness) {
        if isConnecting {
            guard !readiness.isDisjoint(with: [.writable, .failed, .hangUp]) else { return }
            let error = csystem_socket_error(descriptor)
            guard error == 0 else {
                fail(SocketError(errno: -Int(error), "connect to \(peer)"))
                return
            }
            isConnecting = false
            delegate?.streamConnected(self)
            flushSoon()
        }
        if !readiness.isDisjoint(with: [.peerClosed, .hangUp, .failed]) {
            peerHasClosed = true
        }
        // A reset that no read will find: nobody reads at present, or the peer's end has been read already.
        if readiness.contains(.failed), reachedEnd || isReadingPaused {
            let error = csystem_socket_error(descriptor)
            if error != 0 {
                fail(SocketError(errno: -Int(error), "connection to \(peer)"))
                return
            }
        }
        if readiness.contains(.writable), !isWritable {
            isWritable = true
            if output != nil {
                flushSoon()
            }
        }
        if !readiness.isDisjoint(with: [.readable, .peerClosed, .hangUp, .failed]), !reachedEnd {
            isReadable = true
            read()
        }
    }
}
