import Glibc

/// A port of 127.0.0.1 that is bound as long as the object exists, with or without a listener.
public final class BoundPort: Sendable {
    /// The port number from the system.
    public let port: Int
    let descriptor: Int32
    private let held: Monitor<[Int32]> = Monitor([])

    /// Binds a port; `backlog` is the length of the queue of a listener, `nil` for none.
    public init(backlog: Int32?) throws {
        let (chosen, number) = try Self.bound(to: 0)
        guard let backlog else {
            (descriptor, port) = (chosen, number)
            return
        }
        defer { Glibc.close(chosen) }
        // Bound by its number, the port stays with the socket after `stop`, so that no other process gets it.
        (descriptor, port) = try Self.bound(to: number)
        guard listen(descriptor, backlog) == 0 else { throw TestFailure("cannot listen on a port") }
    }

    /// A socket bound to a port, 0 for any, and the port.
    private static func bound(to wanted: Int) throws -> (descriptor: Int32, port: Int) {
        let fd = try makeSocket()
        var on: Int32 = 1
        // A server under test may bind the same port beside a socket that does not listen.
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        guard withLoopback(port: wanted, { bind(fd, $0, $1) }) == 0 else {
            Glibc.close(fd)
            throw TestFailure("cannot bind a port")
        }
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(fd, $0, &length) }
        }
        return (fd, Int(UInt16(bigEndian: address.sin_port)))
    }

    deinit {
        for fd in held.withLock({ $0 }) { Glibc.close(fd) }
        Glibc.close(descriptor)
    }

    /// `http://127.0.0.1:port`
    public var url: String { "http://127.0.0.1:\(port)" }

    /// Waits for a connection; `nil` once `stop` is open.
    public func accept(unless stop: Gate) -> TCPConnection? {
        // The gate precedes, because a port without a listener is always ready.
        let watched = [(fd: stop.descriptor, events: Int16(POLLIN)), (fd: descriptor, events: Int16(POLLIN))]
        while waitForAny(watched, upTo: 3600) == 1 {
            let fd = Glibc.accept(descriptor, nil, nil)
            if fd >= 0 { return TCPConnection(adopting: fd) }
        }
        return nil
    }

    /// A port that refuses every connection: it is bound, so that no other process gets it, but has no listener.
    ///
    /// A server under test may listen on it, and no other process gets it afterwards.
    public static func refusing() throws -> BoundPort {
        try BoundPort(backlog: nil)
    }

    /// A port on which a connect hangs: its queue is full, so that the system drops every further SYN.
    public static func hanging() throws -> BoundPort {
        let port = try BoundPort(backlog: 0)
        for _ in 0..<8 {
            let fd = try makeSocket()
            _ = fcntl(fd, F_SETFL, O_NONBLOCK)
            _ = withLoopback(port: port.port) { Glibc.connect(fd, $0, $1) }
            port.held.withLock { $0.append(fd) }
        }
        // The queue is full once one connection is in it. An earlier connect would not hang.
        guard waitForAny([(port.descriptor, Int16(POLLIN))], upTo: testTimeout) != nil else {
            throw TestFailure("no connection to port \(port.port)")
        }
        return port
    }

    /// A port whose connections the system establishes, and which answers only if the test accepts them.
    public static func silent() throws -> BoundPort {
        try BoundPort(backlog: 64)
    }
}
