/// An HTTP client that sends any bytes and keeps every byte of the response. One thread at a time may use it.
public final class RawClient {
    /// The connection, for tests that half-close, reset or flood it.
    public let connection: TCPConnection
    private var reader: MessageReader
    private var unfinishedEvent: [UInt8] = []
    /// The bytes of the present body so far, without framing.
    public private(set) var body: [UInt8] = []

    /// Connects to a port of 127.0.0.1; a small `receiveBuffer` is soon full.
    public init(port: Int, receiveBuffer: Int? = nil) throws {
        connection = try TCPConnection.connect(port: port, receiveBuffer: receiveBuffer)
        reader = MessageReader(connection)
    }

    /// How the body ended; `nil` before its end.
    public var bodyEnd: BodyEnd? { reader.end }

    /// Sends a text unchanged.
    public func send(_ text: String) {
        connection.send(text)
    }

    /// Sends bytes unchanged.
    public func send(_ bytes: [UInt8]) {
        connection.send(bytes)
    }

    /// Sends a request with a length and a Host.
    public func request(_ method: String, _ path: String, fields: [(String, String)] = [], body: [UInt8]? = nil) {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n"
        for (name, value) in fields { head += "\(name): \(value)\r\n" }
        if let body { head += "Content-Length: \(body.count)\r\n" }
        send(Array((head + "\r\n").utf8) + (body ?? []))
    }

    /// Sends a POST in the form of the clients of the tutorial.
    public func post(_ path: String, json: String, fields: [(String, String)] = []) {
        let usual = [("Content-Type", "application/json; charset=utf-8"), ("Accept", "text/event-streaming")]
        request("POST", path, fields: usual + fields, body: Array(json.utf8))
    }

    /// Reads raw bytes up to and including `mark`.
    public func readUntil(_ mark: String) throws -> [UInt8] {
        guard let bytes = reader.read(through: Array(mark.utf8)) else {
            throw TestFailure("no \(mark.debugDescription) before the end: \(reader.end.debugDescription)")
        }
        return bytes
    }

    /// Reads exactly `count` raw bytes.
    public func read(_ count: Int) throws -> [UInt8] {
        guard let bytes = reader.readExactly(count) else { throw TestFailure("fewer than \(count) bytes") }
        return bytes
    }

    /// Reads raw bytes until the connection ends, and returns how it ended; `cut` means an orderly close here.
    public func readToEnd() -> (bytes: [UInt8], end: BodyEnd) {
        var bytes: [UInt8] = []
        while let some = reader.readAvailable() { bytes += some }
        return (bytes, reader.end ?? .complete)
    }

    /// Reads the head of a response. Its events or its body follow. Interim responses (1xx) are separate heads.
    public func readHead(of method: String = "POST") throws -> MessageHead {
        body = []
        unfinishedEvent = []
        guard let head = reader.nextHead(isAnswerToHead: method == "HEAD") else {
            throw TestFailure(
                "no head: \(reader.end.debugDescription), \(String(decoding: reader.buffer, as: UTF8.self))")
        }
        return head
    }

    /// Reads a response up to any end.
    public func readResponse(of method: String = "POST") throws -> HTTPExchange {
        let head = try readHead(of: method)
        return HTTPExchange(head: head, body: readBody(), end: reader.end ?? .complete)
    }

    /// Reads the rest of the body and returns the whole body.
    public func readBody() -> [UInt8] {
        while let piece = reader.nextPiece() { body += piece }
        return body
    }

    /// Reads the next line of the body, with its LF; `nil` at the end of the body, which `bodyEnd` then describes.
    public func nextLine() -> String? {
        while true {
            if let end = unfinishedEvent.firstIndex(of: 10) {
                defer { unfinishedEvent.removeFirst(end + 1) }
                return String(decoding: unfinishedEvent[...end], as: UTF8.self)
            }
            guard let piece = reader.nextPiece() else { return nil }
            body += piece
            unfinishedEvent += piece
        }
    }

    /// Reads the next event; `nil` at the end of the body, which `bodyEnd` then describes.
    public func nextEvent() -> ServerEvent? {
        while true {
            if let blank = blankLine() {
                let event = ServerEvent(bytes: Array(unfinishedEvent[...blank]))
                unfinishedEvent.removeFirst(blank + 1)
                return event
            }
            guard let piece = reader.nextPiece() else { return nil }
            body += piece
            unfinishedEvent += piece
        }
    }

    /// Reads the next event with data, and skips keep-alives.
    public func nextDataEvent() throws -> ServerEvent {
        while let event = nextEvent() {
            if event.data != nil { return event }
        }
        throw TestFailure("the stream ended: \(reader.end.debugDescription)")
    }

    /// Reads the next event with data, which contains a text; throws an error with the event if it does not.
    @discardableResult public func nextDataEvent(containing text: String) throws -> ServerEvent {
        let event = try nextDataEvent()
        guard event.data?.contains(text) == true else { throw TestFailure("no \(text.debugDescription) in \(event)") }
        return event
    }

    /// Reads all the further events.
    public func readEvents() -> [ServerEvent] {
        var events: [ServerEvent] = []
        while let event = nextEvent() { events.append(event) }
        return events
    }

    /// Ends this direction. Reading continues.
    public func halfClose() {
        connection.halfClose()
    }

    /// Resets the connection.
    public func reset() {
        connection.reset()
    }

    /// Closes the connection.
    public func close() {
        connection.close()
    }

    /// One POST on a separate connection.
    public static func post(
        port: Int, _ path: String, json: String, fields: [(String, String)] = []
    ) throws -> HTTPExchange {
        let client = try RawClient(port: port)
        defer { client.close() }
        client.post(path, json: json, fields: fields)
        return try client.readResponse()
    }

    /// One request without a body on a separate connection.
    public static func get(
        port: Int, _ path: String, method: String = "GET", fields: [(String, String)] = []
    ) throws -> HTTPExchange {
        let client = try RawClient(port: port)
        defer { client.close() }
        client.request(method, path, fields: fields)
        return try client.readResponse(of: method)
    }

    private func blankLine() -> Int? {
        var lineStart = 0
        for (position, byte) in unfinishedEvent.enumerated() where byte == 10 {
            if position == lineStart || (position == lineStart + 1 && unfinishedEvent[lineStart] == 13) {
                return position
            }
            lineStart = position + 1
        }
        return nil
    }
}
