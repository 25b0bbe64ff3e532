import ChatterdBasics

/// Reads an event stream, HTML Standard section 9.2.6, in pieces of any size.
///
/// The data is not decoded: its reader checks that it is UTF-8.
public struct EventDecoder: Sendable {
    private let limits: EventLimits
    private let readsErrorField: Bool
    /// The part of a line that came with earlier bytes.
    private var carry: [UInt8] = []
    private var buffer: [UInt8] = []
    private var hasData = false
    private var eventName = ""
    private var pendingID = ""
    private var isFirstLine = true
    /// A CR ended the last line: a LF right after it belongs to that line end.
    private var skipsLineFeed = false
    /// The last call returned an event; the next call discards it.
    private var isDispatched = false

    /// Creates a decoder at the beginning of a stream.
    ///
    /// The standard ignores fields with unknown names. With `readsErrorField`, a field `error`, which old servers of llama.cpp write,
    /// counts as the data of an event of that name.
    public init(limits: EventLimits = EventLimits(), readsErrorField: Bool = false) {
        self.limits = limits
        self.readsErrorField = readsErrorField
    }

    /// The name of the last event; `message` if the stream gives none.
    public var name: String { eventName.isEmpty ? "message" : eventName }

    /// The data of the last event; valid until the next call.
    public var data: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get { buffer.readable }
    }

    /// The last id in the stream; empty if there was none.
    public private(set) var lastEventID = ""

    /// The time before the next connection, in milliseconds; `nil` if the stream has not set it.
    public private(set) var retry: Int?

    /// Whether an event has begun and not ended; at the end of the stream it is lost.
    public var isInsideEvent: Bool {
        !isDispatched && (hasData || carry.first.map { $0 != UInt8(ascii: ":") } ?? false)
    }

    /// The bytes that the decoder holds: the line and the data of the event that has begun.
    public var heldSize: Int { carry.count + buffer.count }

    /// Whether the bytes so far end between two events, with no incomplete event or line.
    public var isBetweenEvents: Bool { isDispatched || !hasData && carry.isEmpty }

    /// Finds the next event at or after `index`, and moves `index` past it.
    ///
    /// Returns `true` if `name` and `data` hold an event, `false` if all bytes are used.
    public mutating func next(_ bytes: Span<UInt8>, from index: inout Int) throws(HTTPError) -> Bool {
        if isDispatched {
            isDispatched = false
            forgetEvent()
        }
        while index < bytes.count {
            if skipsLineFeed {
                skipsLineFeed = false
                if bytes[index] == Grammar.lineFeed {
                    index += 1
                    continue
                }
            }
            let end = bytes.firstLineEnd(from: index)
            let piece = index..<(end ?? bytes.count)
            guard piece.count <= limits.line - carry.count else { throw HTTPError(.lineTooLong) }
            index = piece.upperBound
            guard let end else {
                bytes.extracting(piece).withUnsafeBufferPointer { carry.append(contentsOf: $0) }
                return false
            }
            index = end + 1
            skipsLineFeed = bytes[end] == Grammar.carriageReturn
            if try read(bytes, piece) {
                isDispatched = true
                return true
            }
        }
        return false
    }

    /// Reads the line that ends with `piece`. Returns whether it ends an event.
    private mutating func read(_ bytes: Span<UInt8>, _ piece: Range<Int>) throws(HTTPError) -> Bool {
        if carry.isEmpty {
            return try process(bytes.extracting(piece))
        }
        bytes.extracting(piece).withUnsafeBufferPointer { carry.append(contentsOf: $0) }
        var line: [UInt8] = []
        swap(&line, &carry)
        let result = try process(line.readable)
        line.removeAll(keepingCapacity: line.capacity <= 4096)
        swap(&line, &carry)
        return result
    }

    private mutating func process(_ whole: Span<UInt8>) throws(HTTPError) -> Bool {
        var line = whole
        if isFirstLine {
            isFirstLine = false
            if line.count >= 3, line[0] == 0xEF, line[1] == 0xBB, line[2] == 0xBF {
                line = line.extracting(3..<line.count)
            }
        }
        if line.isEmpty {
            return endEvent()
        }
        let colon = line.firstIndex(of: UInt8(ascii: ":"), from: 0) ?? line.count
        var start = min(colon + 1, line.count)
        if start < line.count, line[start] == Grammar.space {
            start += 1
        }
        try set(line, name: 0..<colon, value: start..<line.count)
        return false
    }

    private mutating func set(_ line: Span<UInt8>, name: Range<Int>, value: Range<Int>) throws(HTTPError) {
        let isError = readsErrorField && line.equals("error", in: name)
        if isError {
            eventName = "error"
        }
        if isError || line.equals("data", in: name) {
            guard value.count + (hasData ? 1 : 0) <= limits.data - buffer.count else { throw HTTPError(.eventTooLarge) }
            if hasData {
                buffer.append(Grammar.lineFeed)
            }
            hasData = true
            line.extracting(value).withUnsafeBufferPointer { buffer.append(contentsOf: $0) }
        } else if line.equals("event", in: name) {
            eventName = line.text(value)
        } else if line.equals("id", in: name) {
            if line.extracting(value).firstIndex(of: 0, from: 0) == nil {
                pendingID = line.text(value)
            }
        } else if line.equals("retry", in: name) {
            let text = line.text(value)
            if !text.isEmpty, text.utf8.allSatisfy(Grammar.isDigit) {
                retry = Int(text) ?? retry
            }
        }
    }

    private mutating func endEvent() -> Bool {
        lastEventID = pendingID
        guard hasData else {
            eventName = ""
            return false
        }
        return true
    }

    private mutating func forgetEvent() {
        buffer.removeAll(keepingCapacity: buffer.capacity <= 4096)
        hasData = false
        eventName = ""
    }
}

/// The limits of an event of an event stream, in bytes.
public struct EventLimits: Sendable, Hashable {
    /// Bytes of one line, without its line end.
    public var line = 1024 * 1024
    /// Bytes of the data of one event.
    public var data = 4 * 1024 * 1024

    /// The defaults.
    public init() {}
}
