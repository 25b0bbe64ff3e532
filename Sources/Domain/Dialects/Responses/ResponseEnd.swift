import ChatterdBasics
import ChatterdRelay

/// How a response is, or has ended.
struct ResponseEnd {
    /// The states of a response.
    enum Status {
        case queued
        case inProgress
        case completed
        case incomplete
        case failed
        case cancelled
    }

    let status: Status
    /// The counts of tokens, each in `PeerCount.range`; `nil` while they are unknown.
    private(set) var tokens: (prompt: Int, answer: Int)?
    /// The reason of a failure.
    private(set) var error: (code: String, message: String)?
    /// The time of the end in seconds since 1970; `nil` without an end.
    private(set) var completedAt: Int?

    /// A response that has not ended.
    static let inProgress = ResponseEnd(.inProgress)
    /// A response that has not begun.
    static let queued = ResponseEnd(.queued)
    /// A response that is complete.
    static let completed = ResponseEnd(.completed)
    /// A response that has ended early.
    static let incomplete = ResponseEnd(.incomplete)

    private init(_ status: Status) {
        self.status = status
    }

    /// Reads the last event of a reply: the last line of the answer, or an error.
    init(_ lastEvent: Span<UInt8>, _ context: AnswerContext) {
        var (error, code, state, reason, time): (String?, String?, String?, String?, String?) = (
            nil, nil, nil, nil, nil
        )
        var (prompt, answer): (Int?, Int?) = (nil, nil)
        JSONMembers.forEach(of: lastEvent) { reader, key, value in
            let text = lastEvent.extracting(value)
            if text[0] == UInt8(ascii: "\"") {
                let string = String(decodingJSON: text.extracting(1..<(text.count - 1)))
                if reader.matches(key, "error") { error = string }
                if reader.matches(key, "code") { code = string }
                if reader.matches(key, "state") { state = string }
                if reader.matches(key, "done_reason") { reason = string }
                if reader.matches(key, "created_at") { time = string }
            } else {
                var number = JSONReader(text)
                if reader.matches(key, "prompt_eval_count") { prompt = try? number.countOrSkip() }
                if reader.matches(key, "eval_count") { answer = try? number.countOrSkip() }
            }
        }
        switch (error, state, reason) {
        case (.some, _, _): status = .failed
        case (_, ReplyState.cancelled.rawValue, _): status = .cancelled
        case (_, _, "length"): status = .incomplete
        default: status = .completed
        }
        if let error { self.error = (OpenAIDoor.code(of: code ?? "internal"), error) }
        if prompt != nil || answer != nil { tokens = (prompt ?? 0, answer ?? 0) }
        // The clock of a model server may be behind. A stored reply has another time than its request, and the end must not change.
        completedAt = max(context.keptSeconds ?? context.seconds, time.flatMap(Self.seconds) ?? 0)
    }

    /// The seconds since 1970 of a time as Ollama writes it; `nil` for another form.
    private static func seconds(_ text: String) -> Int? {
        guard text.utf8.last == UInt8(ascii: "Z") else { return nil }
        return Int64(rfc3339: Array((text.prefix(19) + ".000000Z").utf8).span).map { Int($0 / 1_000_000) }
    }

    /// The status as the specification writes it.
    var statusText: StaticString {
        switch status {
        case .queued: "queued"
        case .inProgress: "in_progress"
        case .completed: "completed"
        case .incomplete: "incomplete"
        case .failed: "failed"
        case .cancelled: "cancelled"
        }
    }

    /// Whether the response has ended.
    var isOver: Bool { status != .queued && status != .inProgress }

    /// The status of a message of the response.
    var messageStatus: StaticString {
        switch status {
        case .queued, .inProgress: "in_progress"
        case .completed: "completed"
        case .incomplete, .failed, .cancelled: "incomplete"
        }
    }

    /// Why the response is incomplete; `nil` if it is not.
    var incompleteReason: StaticString? {
        switch status {
        case .incomplete: "max_output_tokens"
        case .cancelled: "cancelled"
        case .queued, .inProgress, .completed, .failed: nil
        }
    }

    /// The event at the end of a stream.
    var event: StaticString {
        switch status {
        case .completed: "response.completed"
        case .failed: "response.failed"
        case .queued, .inProgress, .incomplete, .cancelled: "response.incomplete"
        }
    }
}
