import ChatterdBasics

/// When the events of a stream arrived, beside the times at which the server made them.
struct StreamTiming {
    /// A part of the body: the bytes up to `end` had arrived at `instant`.
    struct Arrival {
        let end: Int
        let instant: Instant
    }

    /// The time for which the first event was held back on its way, longer than the fastest one.
    let delay: Duration
    /// The longest time between two arrivals.
    let longestGap: Duration
    /// The number of events.
    let events: Int
    /// The text of the error event; `nil` without one.
    private(set) var error: String?
    /// Whether the stream has its end.
    private(set) var isComplete = false

    /// Reads the events of a body.
    ///
    /// - Parameter arrivals: the parts of the body, in their order.
    init(_ body: [UInt8], _ arrivals: [Arrival]) {
        var delays: [Int64] = []
        var events = 0
        var start = 0
        var next = arrivals.startIndex
        while let length = body[start...].firstIndex(of: UInt8(ascii: "\n")).map({ $0 + 1 - start }) {
            let end = start + length
            let line = body[start..<(end - 1)]
            start = end
            while next < arrivals.endIndex, arrivals[next].end < end { next += 1 }
            let prefix = "data: ".utf8
            guard line.starts(with: prefix), next < arrivals.endIndex,
                let object = try? JSONSlice(Array(line.dropFirst(prefix.count)))
            else { continue }
            events += 1
            error = error ?? object.last("error", .string)?.string
            isComplete = isComplete || object.last("done", .boolean)?.boolean == true
            if let made = object.last("created_at", .string)?.string.flatMap(Self.nanosecondOfDay) {
                delays.append(Int64(arrivals[next].instant.nanoseconds) - made)
            }
        }
        self.events = events
        delay = .nanoseconds((delays.first ?? 0) - (delays.min() ?? 0))
        longestGap = zip(arrivals, arrivals.dropFirst()).map { $1.instant - $0.instant }.max() ?? .zero
    }

    /// The nanosecond since midnight of a time such as `2026-11-20T14:28:59.399655470Z`.
    private static func nanosecondOfDay(_ text: String) -> Int64? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 19, bytes[10] == UInt8(ascii: "T"), bytes[13] == UInt8(ascii: ":") else { return nil }
        func number(_ range: Range<Int>) -> Int64? {
            bytes[range].reduce(0) { sum, digit in
                guard let sum, 0x30...0x39 ~= digit else { return nil }
                return sum * 10 + Int64(digit & 0x0F)
            }
        }
        guard let hours = number(11..<13), let minutes = number(14..<16), let seconds = number(17..<19) else {
            return nil
        }
        let digits = bytes.dropFirst(20).prefix { 0x30...0x39 ~= $0 }.prefix(9)
        let fraction = digits.reduce(Int64(0)) { $0 * 10 + Int64($1 & 0x0F) }
        let scale = (digits.count..<9).reduce(Int64(1)) { scale, _ in scale * 10 }
        return ((hours * 60 + minutes) * 60 + seconds) * 1_000_000_000 + fraction * scale
    }
}
