import ChatterdBasics
import ChatterdHTTP
import ChatterdRelay

/// The events of a server of the kind `openai`, passed on one by one. The stream is over with `[DONE]`, and not before.
struct PassedEvents: PassedAnswerEncoder {
    /// The limit of an event, in bytes.
    static let eventLimit = 1 << 20

    private var events: EventDecoder
    private var isDone = false

    init() {
        var limits = EventLimits()
        limits.line = Self.eventLimit
        limits.data = Self.eventLimit
        events = EventDecoder(limits: limits, readsErrorField: true)
    }

    var streamType: StreamType? { .events }
    /// The event that has begun.
    var heldSize: Int { events.heldSize }

    mutating func append(_ bytes: Span<UInt8>, to output: inout ByteBuffer) throws(PassedAnswerProblem) {
        var index = 0
        while try next(bytes, from: &index) {
            guard !isDone else { continue }
            let data = events.data
            isDone = data.isEqual(to: "[DONE]")
            // A field `data` without a value.
            guard !data.isEmpty else { continue }
            if !isDone {
                guard events.name != "error" else { throw .reported(data.array) }
                try PassedAnswerProblem.check(data)
            }
            output.append("data: ")
            output.append(data: data)
            output.append("\n\n")
        }
    }

    private mutating func next(_ bytes: Span<UInt8>, from index: inout Int) throws(PassedAnswerProblem) -> Bool {
        do throws(HTTPError) {
            return try events.next(bytes, from: &index)
        } catch {
            throw .malformed("an event of it is longer than \(Self.eventLimit) bytes")
        }
    }

    mutating func end(to output: inout ByteBuffer) throws(PassedAnswerProblem) {
        // The blank line behind the last event may be missing.
        if !isDone, events.isInsideEvent {
            let blank: [UInt8] = [0x0A, 0x0A]
            try append(blank.span, to: &output)
        }
        guard isDone else { throw .incomplete }
    }

    func fail(_ error: RelayError, to output: inout ByteBuffer) {
        output.append(eventOf: error)
    }
}

extension ByteBuffer {
    /// Appends the data of an event, whose lines are fields of their own.
    fileprivate mutating func append(data: Span<UInt8>) {
        for index in data.indices {
            append(data[index])
            if data[index] == UInt8(ascii: "\n") { append("data: ") }
        }
    }

    /// Appends an error as the last event of one of OpenAI's streams.
    mutating func append(eventOf error: RelayError) {
        append("data: ")
        OpenAIDoor().append(DoorFault(error), to: &self)
        append("\n\n")
    }
}
