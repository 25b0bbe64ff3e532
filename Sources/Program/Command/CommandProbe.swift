import CChatterdSystem
import ChatterdBasics
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdHTTP
import ChatterdSockets
import Glibc

/// Checks addresses of this machine and its model servers with blocking calls. It sends HTTP/1.0, as the responses then have no
/// chunks.
enum CommandProbe {
    /// The response of a server.
    struct Answer {
        let status: Int
        let body: [UInt8]
    }

    /// Why there is no response.
    struct Failure: Error, Equatable {
        let message: String
        /// Whether there was a connection.
        var isConnected = false
    }

    /// The default timeout of an exchange. Tests on a busy machine extend it.
    @TaskLocal static var limit = Duration.seconds(3)

    /// The maximum size of a response, in bytes.
    private static let sizeLimit = 1 << 20

    /// The address at which a listener of this machine is reached: the loopback address if it listens on every interface.
    static func reachable(_ listen: HostAndPort) -> HostAndPort {
        switch listen.host {
        case "0.0.0.0": HostAndPort(host: "127.0.0.1", port: listen.port)
        case "::": HostAndPort(host: "::1", port: listen.port)
        default: listen
        }
    }

    /// Sends a GET request.
    static func get(
        _ path: String, from target: HostAndPort, key: ConfigurationSecret? = nil,
        within limit: Duration = CommandProbe.limit
    ) -> Result<Answer, Failure> {
        let deadline = ContinuousClock.now + limit
        do throws(Failure) {
            let descriptor = try open(target, deadline)
            defer { close(descriptor) }
            var request = "GET \(path) HTTP/1.0\r\nHost: \(target)\r\nUser-Agent: chatterd\r\nAccept: */*\r\n"
            if let key {
                request += "Authorization: Bearer \(key.value)\r\n"
            }
            do throws(Failure) {
                try send(Array((request + "\r\n").utf8), to: descriptor, deadline)
                return .success(try answer(from: descriptor, deadline))
            } catch {
                throw Failure(message: error.message, isConnected: true)
            }
        } catch {
            return .failure(error)
        }
    }

    /// Connects, and closes the connection.
    static func connect(to target: HostAndPort, within limit: Duration = CommandProbe.limit) -> Result<Void, Failure> {
        do throws(Failure) {
            close(try open(target, ContinuousClock.now + limit))
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    /// Binds an address, and releases it.
    static func bind(_ target: HostAndPort) -> Result<Void, Failure> {
        var last = Failure(message: "it has no address")
        let found = withAddresses(target, flags: AI_PASSIVE) { address in
            let descriptor = csystem_tcp_socket(address.ai_family)
            guard descriptor >= 0 else {
                last = failure(descriptor)
                return nil as Bool?
            }
            defer { close(descriptor) }
            _ = csystem_set_reuse(descriptor, 0)
            guard Glibc.bind(descriptor, address.ai_addr, address.ai_addrlen) == 0, listen(descriptor, 1) == 0 else {
                last = failure(-errno)
                return nil
            }
            return true
        }
        switch found {
        case .failure(let failure): return .failure(failure)
        case .success(let isFree): return isFree == nil ? .failure(last) : .success(())
        }
    }

    private static func open(_ target: HostAndPort, _ deadline: ContinuousClock.Instant) throws(Failure) -> Int32 {
        var last = Failure(message: "it has no address")
        let found = withAddresses(target, flags: 0) { address in
            let descriptor = csystem_tcp_socket(address.ai_family)
            var status = descriptor < 0 ? descriptor : csystem_connect(descriptor, address.ai_addr, address.ai_addrlen)
            if status == -EINPROGRESS {
                status = wait(for: POLLOUT, on: descriptor, deadline) ? -csystem_socket_error(descriptor) : -ETIMEDOUT
            }
            guard status < 0 else { return descriptor }
            last = failure(status)
            if descriptor >= 0 { close(descriptor) }
            return nil
        }
        guard let descriptor = try found.get() else { throw last }
        return descriptor
    }

    private static func send(
        _ bytes: [UInt8], to descriptor: Int32, _ deadline: ContinuousClock.Instant
    ) throws(Failure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { csystem_send(descriptor, $0.baseAddress, $0.count) }
            if count == -Int(EAGAIN) {
                guard wait(for: POLLOUT, on: descriptor, deadline) else { throw failure(-ETIMEDOUT) }
            } else if count < 0 {
                throw failure(Int32(count))
            } else {
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Reads a response of the stated length, or to the end of the connection if it states none.
    private static func answer(
        from descriptor: Int32, _ deadline: ContinuousClock.Instant
    ) throws(Failure) -> Answer {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        var parser = ResponseHeadParser()
        var head: ResponseHead?
        var end = sizeLimit
        while bytes.count < end {
            let count = chunk.withUnsafeMutableBytes { csystem_recv(descriptor, $0.baseAddress, $0.count) }
            if count == -Int(EAGAIN) {
                guard wait(for: POLLIN, on: descriptor, deadline) else { throw failure(-ETIMEDOUT) }
                continue
            }
            guard count >= 0 else { throw failure(Int32(count)) }
            guard count > 0 else { break }
            bytes += chunk[..<count]
            guard head == nil else { continue }
            do throws(HTTPError) {
                head = try parser.parse(bytes.span)
                if let head, case .length(let length) = try BodyFraming.ofResponse(head, to: .get) {
                    end = parser.consumed + min(length, sizeLimit)
                }
            } catch {
                throw Failure(message: "it does not speak HTTP")
            }
        }
        guard let head else {
            throw Failure(
                message: bytes.isEmpty ? "it closed the connection without an answer" : "it does not speak HTTP")
        }
        return Answer(status: head.status.code, body: Array(bytes[parser.consumed..<min(bytes.count, end)]))
    }

    /// Calls `body` for the addresses of a host in turn, until it returns a value.
    private static func withAddresses<Found>(
        _ target: HostAndPort, flags: Int32, _ body: (addrinfo) -> Found?
    ) -> Result<Found?, Failure> {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = flags
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(target.host, String(target.port), &hints, &list)
        guard status == 0 else { return .failure(Failure(message: String(cString: gai_strerror(status)))) }
        defer { freeaddrinfo(list) }
        var next = list
        while let address = next?.pointee {
            if let found = body(address) { return .success(found) }
            next = address.ai_next
        }
        return .success(nil)
    }

    private static func wait(
        for events: Int32, on descriptor: Int32, _ deadline: ContinuousClock.Instant
    ) -> Bool {
        while true {
            let rest = (deadline - .now).components
            let milliseconds = rest.seconds * 1_000 + rest.attoseconds / 1_000_000_000_000_000
            var poll = pollfd(fd: descriptor, events: Int16(events), revents: 0)
            let count = Glibc.poll(&poll, 1, Int32(clamping: max(0, milliseconds)))
            if count > 0 { return true }
            if count == 0 || errno != EINTR { return false }
        }
    }

    private static func failure(_ negated: Int32) -> Failure {
        Failure(message: String(cString: strerror(-negated)))
    }
}
