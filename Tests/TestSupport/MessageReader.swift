/// The start line and the fields of a message.
public struct MessageHead: Sendable {
    /// The first line, without its end.
    public let startLine: String
    /// The fields in order, as sent.
    public let fields: [(name: String, value: String)]

    /// The value of a field, by its name in any case.
    public subscript(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The status of a response; 0 if the line is malformed.
    public var status: Int { Int(startLine.split(separator: " ").dropFirst().first ?? "") ?? 0 }

    /// The method of a request.
    public var method: String { String(startLine.split(separator: " ").first ?? "") }

    /// The target of a request.
    public var target: String { String(startLine.split(separator: " ").dropFirst().first ?? "") }
}

/// How a body, or a connection, ended.
public enum BodyEnd: Equatable, Sendable {
    /// The framing is complete.
    case complete
    /// The peer closed before the end of the framing.
    case cut
    /// The peer reset the connection.
    case reset
    /// No byte arrived within the timeout of the tests.
    case silence
    /// The bytes are not HTTP; the sentence names the fault.
    case malformed(String)
}

/// Reads messages from a connection, with their bodies piece by piece.
struct MessageReader {
    private enum Framing {
        case none
        case length(Int)
        case chunked
        case untilClose
    }

    let connection: TCPConnection
    private let stop: Gate?
    private(set) var buffer: [UInt8] = []
    private var framing = Framing.none
    /// Set at the end of the body.
    private(set) var end: BodyEnd?

    init(_ connection: TCPConnection, stop: Gate? = nil) {
        self.connection = connection
        self.stop = stop
    }

    /// Reads the bytes up to and including `mark`; `nil` at the end of the connection, which `end` then describes.
    mutating func read(through mark: [UInt8]) -> [UInt8]? {
        var searched = 0
        while true {
            if let found = find(mark, from: searched) {
                defer { buffer.removeFirst(found + mark.count) }
                return Array(buffer[..<(found + mark.count)])
            }
            searched = max(0, buffer.count - mark.count + 1)
            guard fill() else { return nil }
        }
    }

    /// Reads exactly `count` bytes.
    mutating func readExactly(_ count: Int) -> [UInt8]? {
        while buffer.count < count {
            guard fill() else { return nil }
        }
        defer { buffer.removeFirst(count) }
        return Array(buffer[..<count])
    }

    /// Reads the present bytes, after waiting for at least one.
    mutating func readAvailable() -> [UInt8]? {
        guard !buffer.isEmpty || fill() else { return nil }
        defer { buffer.removeAll() }
        return buffer
    }

    /// Reads a head. The pieces of the body follow.
    mutating func nextHead(isAnswerToHead: Bool = false) -> MessageHead? {
        end = nil
        guard let bytes = read(through: Array("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: bytes.dropLast(4), as: UTF8.self).split(
            separator: "\r\n", omittingEmptySubsequences: false
        ).map { String($0) }
        let fields = lines.dropFirst().map { line -> (name: String, value: String) in
            let colon = line.firstIndex(of: ":") ?? line.endIndex
            let value = line[colon...].dropFirst().drop { $0 == " " || $0 == "\t" }
            return (String(line[..<colon]), String(value))
        }
        let head = MessageHead(startLine: lines.first ?? "", fields: fields)
        let isAnswer = head.startLine.hasPrefix("HTTP/")
        let hasNoBody = isAnswer && (isAnswerToHead || head.status < 200 || head.status == 204 || head.status == 304)
        if hasNoBody {
            framing = .none
        } else if head["Transfer-Encoding"] != nil {
            framing = .chunked
        } else if let length = head["Content-Length"].flatMap({ Int($0) }) {
            framing = length == 0 ? .none : .length(length)
        } else {
            framing = isAnswer ? .untilClose : .none
        }
        return head
    }

    /// Reads a piece of the body; `nil` at its end, which `end` then describes.
    mutating func nextPiece() -> [UInt8]? {
        switch framing {
        case .none:
            end = end ?? .complete
            return nil
        case .length(let left):
            guard let piece = removeUpTo(left) else { return nil }
            framing = piece.count == left ? .none : .length(left - piece.count)
            return piece
        case .untilClose:
            if let piece = readAvailable() { return piece }
            if end == .cut { end = .complete }
            return nil
        case .chunked:
            guard let line = read(through: [13, 10]) else { return nil }
            let text = String(decoding: line.dropLast(2), as: UTF8.self)
            guard let size = Int(text.prefix { $0 != ";" }, radix: 16) else { return malformed("chunk size \(text)") }
            guard let piece = readExactly(size), let crlf = readExactly(2) else { return nil }
            guard crlf == [13, 10] else { return malformed("no CRLF after a chunk or a trailer") }
            if size > 0 { return piece }
            framing = .none
            end = .complete
            return nil
        }
    }

    /// Reads a request with its whole body; `nil` at the end of the connection.
    mutating func nextRequest() -> (MessageHead, [UInt8])? {
        guard let head = nextHead() else { return nil }
        if head["Expect"] != nil { connection.send("HTTP/1.1 100 Continue\r\n\r\n") }
        var body: [UInt8] = []
        while let piece = nextPiece() { body += piece }
        return end == .complete ? (head, body) : nil
    }

    private mutating func removeUpTo(_ most: Int) -> [UInt8]? {
        guard !buffer.isEmpty || fill() else { return nil }
        let count = min(most, buffer.count)
        defer { buffer.removeFirst(count) }
        return Array(buffer[..<count])
    }

    private mutating func malformed(_ sentence: String) -> [UInt8]? {
        end = .malformed(sentence)
        framing = .none
        return nil
    }

    private mutating func fill() -> Bool {
        switch connection.receive(unless: stop) {
        case .bytes(let bytes):
            buffer += bytes
            return true
        case .end: end = .cut
        case .reset: end = .reset
        case .silence: end = .silence
        }
        return false
    }

    private func find(_ mark: [UInt8], from start: Int) -> Int? {
        guard buffer.count >= mark.count else { return nil }
        for position in start...(buffer.count - mark.count)
        where buffer[position] == mark[0] && buffer[position..<(position + mark.count)].elementsEqual(mark) {
            return position
        }
        return nil
    }
}
