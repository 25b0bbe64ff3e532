import ChatterdBasics
import ChatterdHTTP

/// The course of reading the feed of a conversation, over any number of connections, as a value without I/O.
struct FeedRun: ResumableRun {
    private let path: String
    private var decoder = EventDecoder()
    private var retries: Retries
    private var position: String?
    private(set) var isOver = false
    private var isLost = false

    init(path: String, after position: String?, retries: RetryPolicy) {
        self.path = path
        self.position = position
        self.retries = Retries(retries)
    }

    mutating func request() throws(ChatterError) -> ClientRequest {
        decoder = EventDecoder()
        var request = ClientRequest(.get, path)
        request.fields.add(.accept, "text/event-stream")
        if let position, let value = FieldValue(validating: position) {
            request.fields.add(.lastEventID, value)
        }
        return request
    }

    mutating func connected(_ response: ResponseHead) throws(ChatterError) -> [ConversationEvent] {
        defer { isLost = false }
        retries.succeed()
        retries.hasBegun = true
        return isLost ? [.resumed] : []
    }

    mutating func received(_ bytes: Span<UInt8>, _ events: inout ArraySlice<ConversationEvent>) throws(ChatterError) {
        var index = 0
        while !isOver, try decoder.nextEvent(bytes, from: &index) {
            let data = decoder.data.array
            switch decoder.name {
            case "conversation": events.append(.state(try JSON.decode(ConversationEvent.State.self, from: data)))
            case "prompt": events.append(.prompt(try JSON.decode(ConversationEvent.Prompt.self, from: data)))
            case "reply": events.append(.replyStarted(try JSON.decode(ConversationEvent.Reply.self, from: data)))
            case "end": events.append(.replyEnded(try JSON.decode(ConversationEvent.Reply.self, from: data)))
            case "choice": events.append(.choice(try JSON.decode(Choice.self, from: data).id))
            case "settings":
                events.append(.settings(try JSON.decode(ConversationEvent.Settings.self, from: data)))
            case "reset": events.append(.reset(try JSON.decode(ConversationEvent.State.self, from: data)))
            case "deleted":
                events.append(.deleted)
                isOver = true
            case "error":
                let error = ChatterError(event: try JSON.decode(ErrorBody.self, from: data))
                guard error.isRetryable else { throw error }
                throw .connectionLost(error.message)
            default: break
            }
            if !decoder.lastEventID.isEmpty {
                position = decoder.lastEventID
            }
        }
    }

    mutating func failed(
        _ error: ChatterError
    ) throws(ChatterError) -> (wait: Duration, events: [ConversationEvent]) {
        let wait = try retries.next(after: error)
        isLost = true
        return (wait, [.connectionLost(error, retryAfter: wait)])
    }

    private struct Choice: Decodable {
        let id: ReplyID
    }
}
