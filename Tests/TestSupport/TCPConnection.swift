import Glibc

/// The result of a read from a connection.
public enum Received: Equatable, Sendable {
    /// One or more bytes.
    case bytes([UInt8])
    /// The peer ended its direction.
    case end
    /// The peer reset the connection.
    case reset
    /// No byte arrived within the timeout.
    case silence
}

/// A TCP connection, or one of a unix socket, read and written by blocking calls.
public final class TCPConnection: Sendable {
    private let descriptor: Monitor<Int32>

    /// Adopts a connected descriptor.
    init(adopting fd: Int32) {
        _ = fcntl(fd, F_SETFD, FD_CLOEXEC)
        var on: Int32 = 1
        setsockopt(fd, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        descriptor = Monitor(fd)
    }

    deinit {
        close()
    }

    /// Connects to a port of 127.0.0.1; a small `receiveBuffer` is soon full.
    public static func connect(port: Int, receiveBuffer: Int? = nil) throws -> TCPConnection {
        let fd = try makeSocket()
        if var size = receiveBuffer.map(Int32.init) {
            setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        let status = withLoopback(port: port) { Glibc.connect(fd, $0, $1) }
        guard status == 0 else {
            let reason = errno
            Glibc.close(fd)
            throw TestFailure("cannot connect to port \(port): \(String(cString: strerror(reason)))")
        }
        return TCPConnection(adopting: fd)
    }

    /// Connects to a unix socket.
    public static func connect(path: String) throws -> TCPConnection {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        try withUnsafeMutableBytes(of: &address.sun_path) { room in
            guard bytes.count < room.count else { throw TestFailure("too long for a socket: \(path)") }
            room.copyBytes(from: bytes)
        }
        let fd = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard fd >= 0 else { throw TestFailure("no socket: \(String(cString: strerror(errno)))") }
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(fd, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else {
            let reason = errno
            Glibc.close(fd)
            throw TestFailure("cannot connect to \(path): \(String(cString: strerror(reason)))")
        }
        return TCPConnection(adopting: fd)
    }

    /// Sends all bytes; returns `false` if the peer has closed, or if `stop` opened while the peer did not read.
    @discardableResult
    public func send(_ bytes: [UInt8], unless stop: Gate? = nil) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let fd = current
            let count = bytes.withUnsafeBytes { raw in
                Glibc.send(
                    fd, raw.baseAddress.map { $0 + sent }, raw.count - sent, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            if count > 0 {
                sent += count
                continue
            }
            guard count < 0, errno == EAGAIN || errno == EINTR else { return false }
            var watched: [(fd: Int32, events: Int16)] = [(fd, Int16(POLLOUT))]
            if let stop { watched.append((stop.descriptor, Int16(POLLIN))) }
            guard waitForAny(watched, upTo: testTimeout) == 0 else { return false }
        }
        return true
    }

    /// Sends `unit` again and again without reading, until the system of the peer accepts no more or `limit` bytes are sent.
    ///
    /// The peer accepts no more if its system accepts no byte during `rounds` turns of the peer.
    ///
    /// - Parameter turn: returns when the peer was served, for example when it has answered another peer.
    /// - Returns: the number of bytes sent; the last unit may be incomplete.
    public func flood(
        with unit: [UInt8], upTo limit: Int, rounds: Int = 5, betweenRounds turn: () throws -> Void
    ) throws -> Int {
        // In large pieces: a system call for each unit would take most of the time.
        let piece = Array(repeatElement(unit, count: max(1, 65_536 / unit.count)).joined())
        var (sent, round) = (0, 0)
        while sent < limit, round < rounds {
            let count = piece.withUnsafeBytes { raw in
                let rest = UnsafeRawBufferPointer(rebasing: raw[(sent % piece.count)...])
                return Glibc.send(current, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            if count > 0 {
                (sent, round) = (sent + count, 0)
            } else if errno == EAGAIN {
                try turn()
                round += 1
            } else if errno != EINTR {
                throw TestFailure("the peer ended the connection after \(sent) bytes")
            }
        }
        return sent
    }

    /// Sends a text.
    @discardableResult
    public func send(_ text: String) -> Bool {
        send(Array(text.utf8))
    }

    /// Sends in pieces, each in a separate segment as far as TCP allows.
    @discardableResult
    public func send(_ bytes: [UInt8], inPiecesOf size: Int) -> Bool {
        var start = 0
        while start < bytes.count {
            let end = min(start + max(1, size), bytes.count)
            guard send(Array(bytes[start..<end])) else { return false }
            sched_yield()
            start = end
        }
        return true
    }

    /// Waits for bytes, or for the end, or until `stop` opens.
    public func receive(
        atMost count: Int = 65_536, upTo seconds: Double = testTimeout, unless stop: Gate? = nil
    ) -> Received {
        let fd = current
        guard fd >= 0 else { return .end }
        var watched: [(fd: Int32, events: Int16)] = [(fd, Int16(POLLIN))]
        if let stop { watched.append((stop.descriptor, Int16(POLLIN))) }
        guard waitForAny(watched, upTo: seconds) == 0 else { return .silence }
        var got = -1
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            got = recv(fd, buffer.baseAddress, count, Int32(MSG_DONTWAIT))
            initialized = max(0, got)
        }
        if got > 0 { return .bytes(bytes) }
        return got == 0 ? .end : .reset
    }

    /// Whether bytes have arrived that were not received yet.
    public var hasInput: Bool {
        var count: Int32 = 0
        return ioctl(current, UInt(FIONREAD), &count) == 0 && count > 0
    }

    /// Waits until the peer closes or resets the connection, without reading; returns `false` if a gate opened first.
    public func waitForPeerClose(unless gates: [Gate] = [], upTo seconds: Double = testTimeout) -> Bool {
        // POLLRDHUP: the name needs _GNU_SOURCE.
        let hangUp: Int16 = 0x2000
        let watched = [(fd: current, events: hangUp)] + gates.map { (fd: $0.descriptor, events: Int16(POLLIN)) }
        return waitForAny(watched, upTo: seconds) == 0
    }

    /// Waits until the system of the peer has all sent bytes, read or unread; returns `false` after the timeout.
    public func waitUntilAcknowledged() -> Bool {
        let deadline = monotonicSeconds() + testTimeout
        while monotonicSeconds() < deadline {
            var unacknowledged: Int32 = 0
            guard ioctl(current, UInt(TIOCOUTQ), &unacknowledged) == 0 else { return false }
            if unacknowledged == 0 { return true }
            usleep(1_000)
        }
        return false
    }

    /// Ends this direction. Reading continues.
    public func halfClose() {
        shutdown(current, Int32(SHUT_WR))
    }

    /// Closes with a reset, which discards bytes that the peer has not read.
    public func reset() {
        var linger = Glibc.linger(l_onoff: 1, l_linger: 0)
        setsockopt(current, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
        close()
    }

    /// Closes the connection. A second call has no effect.
    public func close() {
        let fd = descriptor.withLock { descriptor in
            defer { descriptor = -1 }
            return descriptor
        }
        if fd >= 0 { Glibc.close(fd) }
    }

    var current: Int32 { descriptor.withLock { $0 } }
}

func makeSocket() throws -> Int32 {
    let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard fd >= 0 else { throw TestFailure("no socket: \(String(cString: strerror(errno)))") }
    return fd
}

func withLoopback<Result>(port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
}
