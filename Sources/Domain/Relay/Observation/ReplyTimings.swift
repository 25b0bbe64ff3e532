import ChatterdBasics
import ChatterdChat

/// The times of a reply that its last event tells the client, in whole milliseconds.
public struct ReplyTimings: Sendable, Equatable {
    /// `ttft_ms`: from the whole request to the first piece of the answer; `nil` without one.
    public var timeToFirstToken: Duration?
    /// `queue_ms`: the wait for slots of model servers.
    public var queue: Duration
    /// `attempts`: the number of requests to model servers.
    public var attempts: Int

    public init(timeToFirstToken: Duration? = nil, queue: Duration = .zero, attempts: Int = 0) {
        self.timeToFirstToken = timeToFirstToken
        self.queue = queue
        self.attempts = attempts
    }

    /// A last event with these members, in the place of members with their names.
    func added(to lastEvent: [UInt8]) -> [UInt8] {
        var result = ByteBuffer(capacity: lastEvent.count + 64)
        result.appendJSON { json in
            json.object { json in
                JSONMembers.forEach(of: lastEvent.span) { reader, key, value in
                    guard !Self.isName(key, reader) else { return }
                    json.raw { buffer in
                        buffer.append("\"")
                        buffer.append(lastEvent.span.extracting(key.range))
                        buffer.append("\":")
                        buffer.append(lastEvent.span.extracting(value))
                    }
                }
                json.members(self)
            }
        }
        return result.array
    }

    /// Whether a member of a last event is one of these.
    public static func isName(_ key: JSONString, _ reader: borrowing JSONReader) -> Bool {
        reader.matches(key, "ttft_ms") || reader.matches(key, "queue_ms") || reader.matches(key, "attempts")
    }
}

extension JSONWriter {
    /// Writes the members of timings.
    mutating func members(_ timings: ReplyTimings) {
        if let time = timings.timeToFirstToken { member("ttft_ms", time.wholeMilliseconds) }
        member("queue_ms", timings.queue.wholeMilliseconds)
        member("attempts", timings.attempts)
    }
}

extension Duration {
    fileprivate var wholeMilliseconds: Int { Int(nanoseconds / 1_000_000) }
}
