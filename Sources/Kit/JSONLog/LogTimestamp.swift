import ChatterdBasics
import Glibc

/// A time of day in the format of RFC 3339, in UTC with milliseconds. The date is formatted once a second.
struct LogTimestamp: Sendable {
    private var second = Int.min
    /// `2026-11-20T13:41:10.`
    private var prefix: [UInt8] = []
    private var milliseconds = 0

    mutating func set(_ now: (seconds: Int, nanoseconds: Int)) {
        milliseconds = now.nanoseconds / 1_000_000
        guard now.seconds != second else { return }
        second = now.seconds
        var parts = tm()
        var seconds = time_t(now.seconds)
        gmtime_r(&seconds, &parts)
        var text = ByteBuffer(capacity: 20)
        Self.append(Int(parts.tm_year) + 1900, digits: 4, to: &text)
        for (separator, value) in [
            (UInt8(ascii: "-"), parts.tm_mon + 1), (UInt8(ascii: "-"), parts.tm_mday),
            (UInt8(ascii: "T"), parts.tm_hour),
            (UInt8(ascii: ":"), parts.tm_min), (UInt8(ascii: ":"), parts.tm_sec),
        ] {
            text.append(separator)
            Self.append(Int(value), digits: 2, to: &text)
        }
        text.append(UInt8(ascii: "."))
        prefix = text.array
    }

    func append(to buffer: inout ByteBuffer) {
        buffer.append(prefix)
        Self.append(milliseconds, digits: 3, to: &buffer)
        buffer.append(UInt8(ascii: "Z"))
    }

    /// Appends the last digits of a non-negative number, with leading zeros.
    static func append(_ value: Int, digits: Int, to buffer: inout ByteBuffer) {
        var divisor = 1
        for _ in 1..<digits { divisor *= 10 }
        while divisor > 0 {
            buffer.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / divisor % 10))
            divisor /= 10
        }
    }
}
