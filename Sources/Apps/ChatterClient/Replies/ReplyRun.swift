import ChatterdBasics
import ChatterdHTTP

/// The course of reading one reply, over any number of connections, as a value without I/O.
///
/// It begins with a request that makes the reply, or with one that reads it. Once the reply has an id, it is read at its address after
/// the last event.
struct ReplyRun: ResumableRun {
    /// The request that makes the reply; `nil` if that may not be repeated any more, or the reply is only read.
    private var first: ClientRequest?
    /// Whether a repetition of the first request gets the same reply.
    private let isRepeatable: Bool
    private let app: String?
    private var decoder = EventDecoder()
    private var retries: Retries
    private(set) var reply: ReplyID?
    /// The id of the last event.
    private(set) var position: String?
    private(set) var isOver = false
    /// Whether the connection was lost, so that the next one resumes.
    private var isLost = false

    /// A reply that a request makes.
    init(making request: ClientRequest, isRepeatable: Bool, app: String?, retries: RetryPolicy) {
        first = request
        self.isRepeatable = isRepeatable
        self.app = app
        self.retries = Retries(retries)
    }

    /// A reply that exists, after an event; `nil` for its start.
    init(reading reply: ReplyID, after position: String?, app: String?, retries: RetryPolicy) {
        isRepeatable = true
        self.reply = reply
        self.position = position
        self.app = app
        self.retries = Retries(retries)
    }

    /// The next request.
    mutating func request() throws(ChatterError) -> ClientRequest {
        decoder = EventDecoder()
        guard let reply else {
            guard let first else { throw .connectionLost("The connection was lost before the reply had an address.") }
            if !isRepeatable {
                self.first = nil
            }
            return first
        }
        var request = ClientRequest(.get, "/replies/\(PathEncoding.segment(reply.text))")
        request.fields.add(.accept, "text/event-stream")
        request.fields.add(.queueEvents, "1")
        request.fields.add(.stepEvents, "1")
        if let position, let value = FieldValue(validating: position) {
            request.fields.add(.lastEventID, value)
        }
        return request
    }

    mutating func connected(_ response: ResponseHead) throws(ChatterError) -> [ReplyEvent] {
        defer { isLost = false }
        if response.status == .noContent {
            isOver = true
            return []
        }
        var events: [ReplyEvent] = []
        if reply == nil {
            guard let id = response.fields[.location].flatMap(ReplyID.init(location:)) else {
                throw .malformed("The server gave no address of the reply.")
            }
            reply = id
            first = nil
            retries.succeed()
            retries.hasBegun = true
            events.append(.started(id))
        }
        if isLost {
            events.append(.resumed)
        }
        return events
    }

    mutating func received(_ bytes: Span<UInt8>, _ events: inout ArraySlice<ReplyEvent>) throws(ChatterError) {
        var index = 0
        while !isOver, try decoder.nextEvent(bytes, from: &index) {
            let isEnd = decoder.lastEventID.hasSuffix("-end")
            if decoder.name == "error" {
                let error = ChatterError(event: try JSON.decode(ErrorBody.self, from: decoder.data.array))
                // Without an end the reply continues elsewhere, or later.
                guard isEnd || !error.isRetryable else { throw .connectionLost(error.message) }
                isOver = true
                throw error
            }
            if decoder.name == "step" {
                events.append(.step(try JSON.decode(ToolStep.self, from: decoder.data.array)))
                continue
            }
            let line = try JSON.decode(AnswerLine.self, from: decoder.data.array)
            if !decoder.lastEventID.isEmpty {
                position = decoder.lastEventID
            }
            retries.succeed()
            retries.hasBegun = true
            switch decoder.name {
            case "message", "tool_calls":
                events += line.events
                isOver = line.done == true
            case "reset": events.append(.reset)
            case "queue":
                if let queue = line.queue {
                    events.append(.queued(queue))
                }
            default: break
            }
        }
    }

    mutating func failed(_ error: ChatterError) throws(ChatterError) -> (wait: Duration, events: [ReplyEvent]) {
        // Only `request` knows whether there is one to repeat.
        guard !isOver, reply != nil || first != nil else { throw error }
        let wait = try retries.next(after: error)
        isLost = true
        return (wait, [.connectionLost(error, retryAfter: wait)])
    }
}
