import ChatterdTestSupport
import Glibc

/// One of many readers of a reply, with the complete events of all its connections, as an EventSource would deliver them.
struct CrowdReader {
    /// The speed of a reader.
    enum Manner {
        /// Reads all available bytes.
        case quick
        /// Reads few bytes at a time into a small buffer, so that unsent output gathers at the server.
        case slow
    }

    let manner: Manner
    /// Whether it does not read for now; the connection stays.
    var isDeaf = false
    private(set) var descriptor: Int32 = -1
    private(set) var isOver = false
    /// How the last connection ended.
    private var closing = "open"
    /// The data of all events without a name.
    private(set) var lines: [[UInt8]] = []
    /// The last event's id.
    private(set) var lastID: String?
    /// The names of the named events.
    private(set) var names: [String] = []
    /// The statuses of the answers so far.
    private(set) var statuses: [Int] = []
    /// The bytes of the present answer.
    private var bytes: [UInt8] = []

    init(_ manner: Manner) {
        self.manner = manner
    }

    var isConnected: Bool { descriptor >= 0 }

    /// Whether the stream has ended.
    var hasEnd: Bool { lastID?.hasSuffix("-end") == true }

    /// The answers so far, for the message of a failed test.
    var summary: String {
        "statuses \(statuses), \(lines.count) lines, last id \(lastID ?? "none"), named events \(names), "
            + "end of the connection: \(closing)"
    }

    /// Requests the reply from the reader's position; every second request has the position in the query.
    mutating func join(port: Int, reply: String) throws {
        descriptor = try connect(to: port)
        let query = statuses.count.isMultiple(of: 2) ? nil : lastID.map { "?last_event_id=\($0)" }
        let field = query == nil ? lastID.map { "Last-Event-ID: \($0)\r\n" } : nil
        let head =
            "GET \(reply)\(query ?? "") HTTP/1.1\r\nHost: localhost\r\n\(field ?? "")Connection: close\r\n\r\n"
        let request = Array(head.utf8)
        guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw TestFailure("a request was not sent completely: \(String(cString: strerror(errno)))")
        }
    }

    /// Whether the last bytes contain these words.
    func hasReceived(_ words: String) -> Bool {
        String(decoding: bytes.suffix(200), as: UTF8.self).contains(words)
    }

    /// Reads all available bytes, or few of them; the answer ends with the connection.
    mutating func receive(into buffer: inout [UInt8]) {
        let most = manner == .slow ? 700 : buffer.count
        let count = recv(descriptor, &buffer, most, Int32(MSG_DONTWAIT))
        if count > 0 {
            bytes += buffer[..<count]
        } else if count == 0 || errno != EAGAIN {
            closing = count == 0 ? "closed" : String(cString: strerror(errno))
            hangUp()
            isOver = true
        }
    }

    /// Closes the connection at any position of the answer, with a reset if bytes are unread.
    mutating func hangUp() {
        close(descriptor)
        descriptor = -1
        parseEvents()
        bytes = []
    }

    // MARK: - The answer

    private mutating func parseEvents() {
        guard let head = Self.find("\r\n\r\n", in: bytes[...]) else { return }
        statuses.append(Int(String(decoding: bytes[..<head.lowerBound].dropFirst(9).prefix(3), as: UTF8.self)) ?? 0)
        let body = Self.unframed(bytes[head.upperBound...])
        var rest = body[...]
        while let end = Self.find("\n\n", in: rest) {
            parseEvent(rest[..<end.lowerBound])
            rest = rest[end.upperBound...]
        }
    }

    private mutating func parseEvent(_ event: ArraySlice<UInt8>) {
        var name: String?
        var data: ArraySlice<UInt8>?
        var rest = event
        while !rest.isEmpty {
            let end = Self.position(of: 10, in: rest) ?? rest.endIndex
            let line = rest[..<end]
            if let id = line.value(of: "id: ") { lastID = String(decoding: id, as: UTF8.self) }
            if let value = line.value(of: "event: ") { name = String(decoding: value, as: UTF8.self) }
            if let value = line.value(of: "data: ") { data = value }
            rest = rest[end...].dropFirst()
        }
        if let name {
            names.append(name)
        } else if let data {
            lines.append(Array(data))
        }
    }

    /// The content of the chunks, as far as they came.
    private static func unframed(_ chunks: ArraySlice<UInt8>) -> [UInt8] {
        var body: [UInt8] = []
        var rest = chunks
        while let end = find("\r\n", in: rest),
            let size = Int(String(decoding: rest[..<end.lowerBound], as: UTF8.self), radix: 16), size > 0
        {
            body += rest[end.upperBound...].prefix(size)
            rest = rest[end.upperBound...].dropFirst(size + 2)
        }
        return body
    }

    /// Uses memchr, because it searches hundreds of megabytes; the first byte of the mark is rare.
    private static func find(_ mark: String, in bytes: ArraySlice<UInt8>) -> Range<Int>? {
        let mark = Array(mark.utf8)
        var start = bytes.startIndex
        while let found = position(of: mark[0], in: bytes[start...]) {
            if bytes[found...].starts(with: mark) { return found..<(found + mark.count) }
            start = found + 1
        }
        return nil
    }

    private static func position(of byte: UInt8, in bytes: ArraySlice<UInt8>) -> Int? {
        bytes.withUnsafeBytes { raw in
            guard let start = raw.baseAddress, let found = memchr(start, Int32(byte), raw.count) else { return nil }
            return bytes.startIndex + (UnsafeRawPointer(found) - start)
        }
    }

    // MARK: - The connection

    private func connect(to port: Int) throws -> Int32 {
        let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard fd >= 0 else { throw TestFailure("no socket: \(String(cString: strerror(errno)))") }
        if manner == .slow {
            // On loopback the sender's buffer grows with the segments that the receiver allows.
            var segment: Int32 = 536
            var room: Int32 = 2_048
            setsockopt(fd, Int32(IPPROTO_TCP), TCP_MAXSEG, &segment, socklen_t(MemoryLayout<Int32>.size))
            setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(fd, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw TestFailure("cannot connect: \(String(cString: strerror(errno)))") }
        return fd
    }
}

extension ArraySlice<UInt8> {
    fileprivate func value(of field: String) -> Self? {
        starts(with: field.utf8) ? dropFirst(field.utf8.count) : nil
    }
}

/// Readers that one thread drives.
struct Crowd {
    var readers: [CrowdReader]
    private var buffer = [UInt8](repeating: 0, count: 65_536)

    init(_ readers: [CrowdReader]) {
        self.readers = readers
    }

    /// Reads until `isEnough`, which is called after each round.
    mutating func read(_ what: String, until isEnough: ([CrowdReader]) -> Bool) throws {
        let deadline = monotonicSeconds() + 4 * testTimeout
        while !isEnough(readers) {
            guard monotonicSeconds() < deadline else {
                throw TestFailure("timeout: \(what); \(readers.count { !$0.isOver }) readers have not finished")
            }
            let listening = readers.indices.filter { readers[$0].isConnected && !readers[$0].isDeaf }
            var polled = listening.map { pollfd(fd: readers[$0].descriptor, events: Int16(POLLIN), revents: 0) }
            guard poll(&polled, nfds_t(polled.count), 1_000) > 0 else { continue }
            for (index, polled) in zip(listening, polled) where polled.revents != 0 {
                readers[index].receive(into: &buffer)
            }
        }
    }
}
