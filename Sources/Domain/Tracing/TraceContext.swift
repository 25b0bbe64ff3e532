import ChatterdBasics

/// A span of a trace, as a request names it to the next program: the fields `traceparent` and `tracestate` (W3C Trace Context).
public struct TraceContext: Sendable, Equatable {
    /// The limit of `tracestate`, in bytes. Entries at its end that do not fit are left out.
    public static let maximumState = 512
    /// The limit of the entries of `tracestate`.
    static let maximumEntries = 32
    /// The flags of the specification: whether the span is sampled, and whether the trace id is random.
    private static let sampled: UInt8 = 1
    private static let random: UInt8 = 2

    /// The trace.
    public let trace: TraceID
    /// The span within the trace; never 0.
    public let span: UInt64
    private let flags: UInt8
    /// The `tracestate`; empty for none.
    public let state: String

    private init(trace: TraceID, span: UInt64, flags: UInt8, state: String) {
        (self.trace, self.span, self.flags, self.state) = (trace, span, flags, state)
    }

    /// The first span of a trace with a random id.
    public init(newTrace trace: TraceID, span: UInt64, isSampled: Bool) {
        self.init(
            trace: trace, span: max(span, 1), flags: Self.random | (isSampled ? Self.sampled : 0), state: "")
    }

    /// Whether the spans are recorded.
    public var isSampled: Bool { flags & Self.sampled != 0 }

    /// Another span of the same trace.
    public func with(span: UInt64) -> TraceContext {
        TraceContext(trace: trace, span: max(span, 1), flags: flags, state: state)
    }

    /// The same span, sampled or not.
    public func with(isSampled: Bool) -> TraceContext {
        TraceContext(
            trace: trace, span: span, flags: flags & ~Self.sampled | (isSampled ? Self.sampled : 0), state: state)
    }

    /// Reads the fields of a request; `nil` if `traceparent` is invalid. An invalid `tracestate` counts as none.
    ///
    /// - Parameter states: the values of all fields `tracestate`, in order.
    public init?(traceparent: String, tracestate states: [String] = []) {
        let bytes = Array(traceparent.utf8)
        // Later versions may have more after these members.
        guard bytes.count >= 55, bytes.count == 55 || bytes[55] == UInt8(ascii: "-"),
            [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }),
            let version = UInt64(hexadecimal: bytes[0..<2]), version != 0xFF, version != 0 || bytes.count == 55,
            let high = UInt64(hexadecimal: bytes[3..<19]), let low = UInt64(hexadecimal: bytes[19..<35]),
            high | low != 0, let span = UInt64(hexadecimal: bytes[36..<52]), span != 0,
            let flags = UInt64(hexadecimal: bytes[53..<55])
        else { return nil }
        self.init(
            trace: TraceID(high: high, low: low), span: span,
            flags: UInt8(truncatingIfNeeded: flags) & (Self.sampled | Self.random), state: Self.state(states))
    }

    /// The value of `traceparent`.
    public var traceparent: String {
        var text = ByteBuffer()
        text.append(upTo: 55) { text in
            text.append("00-")
            text.append(trace)
            text.append("-")
            text.append(hexadecimal: span)
            text.append("-0")
            text.append(decimal: Int(flags))
        }
        return text.string
    }

    // MARK: - As one text

    /// Both values, with a space between them.
    public var text: String { state.isEmpty ? traceparent : "\(traceparent) \(state)" }

    /// Reads what `text` has.
    public init?(text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1).map { String(Substring($0)) }
        guard let first = parts.first else { return nil }
        self.init(traceparent: first, tracestate: Array(parts.dropFirst()))
    }

    // MARK: - tracestate

    private static func state(_ values: [String]) -> String {
        var entries: [Substring.UTF8View] = []
        var size = -1
        for value in values {
            for element in value.utf8.split(separator: UInt8(ascii: ",")) {
                let entry = element.trimmed
                guard !entry.isEmpty else { continue }
                guard isEntry(entry) else { return "" }
                size += entry.count + 1
                guard size <= maximumState, entries.count < maximumEntries else { return joined(entries) }
                entries.append(entry)
            }
        }
        return joined(entries)
    }

    private static func joined(_ entries: [Substring.UTF8View]) -> String {
        entries.map { String(Substring($0)) }.joined(separator: ",")
    }

    /// Whether an entry is `key=value` with the characters that the specification permits.
    private static func isEntry(_ entry: Substring.UTF8View) -> Bool {
        guard let equals = entry.firstIndex(of: UInt8(ascii: "=")) else { return false }
        let (key, value) = (entry[..<equals], entry[entry.index(after: equals)...])
        let isKey = key.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"),
                UInt8(ascii: "-"), UInt8(ascii: "*"), UInt8(ascii: "/"), UInt8(ascii: "@"):
                true
            default: false
            }
        }
        return isKey && 1...256 ~= key.count && 1...256 ~= value.count
            && value.allSatisfy { 0x20...0x7E ~= $0 && $0 != UInt8(ascii: "=") }
    }
}

/// The id of a trace: 128 bits, never 0.
public struct TraceID: Sendable, Equatable {
    public let high: UInt64
    public let low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = high | low == 0 ? 1 : low
    }
}

extension OutputSpan<UInt8> {
    /// Appends 32 hexadecimal digits; there must be room.
    mutating func append(_ trace: TraceID) {
        append(hexadecimal: trace.high)
        append(hexadecimal: trace.low)
    }

    /// Appends 16 hexadecimal digits; there must be room.
    mutating func append(hexadecimal value: UInt64) {
        for index in 0..<16 {
            let digit = UInt8(truncatingIfNeeded: value >> UInt64(60 - 4 * index)) & 0xF
            append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }
}

extension UInt64 {
    /// Reads digits of lower case; `nil` for other characters.
    fileprivate init?(hexadecimal digits: ArraySlice<UInt8>) {
        var value: UInt64 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt64(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        self = value
    }
}

extension Substring.UTF8View {
    /// The bytes without spaces and tabs around them.
    fileprivate var trimmed: Substring.UTF8View {
        let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        let start = drop(while: isSpace)
        return start.lastIndex { !isSpace($0) }.map { start[...$0] } ?? start.prefix(0)
    }
}
