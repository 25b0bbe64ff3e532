import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdRelay

/// The value of the field `Server-Timing`: parts of the time of a request, in milliseconds (W3C Server Timing).
struct ServerTiming {
    private var text = ByteBuffer()

    /// Adds a part. It must have a name that is a token.
    mutating func add(_ name: StaticString, _ duration: Duration) {
        if !text.isEmpty { text.append(", ") }
        text.append(name)
        text.append(";dur=")
        let microseconds = Int(duration.nanoseconds / 1_000)
        text.append(decimal: microseconds / 1_000)
        text.append(".")
        text.append(decimal: microseconds / 100 % 10)
    }

    var value: FieldValue { FieldValue(validating: String(decoding: text.array, as: UTF8.self)) ?? "" }
}

extension ServerTiming {
    /// What is known of a reply: `store` is the time from the whole request to its commit, `turn` and `queue` are waits, `retry` is the time
    /// of requests that failed, and `ttft` is the time from the whole request to the first piece of the answer.
    init(_ facts: ReplyFacts) {
        add("store", facts.storeTime)
        if facts.turnWait > .zero { add("turn", facts.turnWait) }
        if facts.queueWait > .zero { add("queue", facts.queueWait) }
        if facts.retries > .zero { add("retry", facts.retries) }
        if let time = facts.timeToFirstToken { add("ttft", time) }
    }
}
