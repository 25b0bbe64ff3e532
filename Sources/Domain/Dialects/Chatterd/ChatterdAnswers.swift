import ChatterdBasics
import ChatterdChat
import ChatterdHTTP
import ChatterdRelay

/// The answers of chatterd's own paths: docs/api.md. A stream can be resumed after each event, takes text back, and shows the queue.
public struct ChatterdAnswers: AnswerTranslator {
    private let showsQueue: Bool
    private let retry: UInt32?
    private let course: CourseEvents?

    /// - Parameters:
    ///   - showsQueue: whether queue positions are events, besides the comments.
    ///   - retry: the time in milliseconds after which a client should come back, for its stream; `nil` leaves it to the client.
    ///   - course: the events for client apps of the course in a stream from its beginning; `nil` for none.
    public init(showsQueue: Bool, retry: UInt32? = nil, course: CourseEvents? = nil) {
        self.showsQueue = showsQueue
        self.retry = retry
        self.course = course
    }

    /// The events that only client apps of the course know.
    public enum CourseEvents: Sendable {
        /// The place that an answer names.
        case location
        /// The calls of tools, which then have no lines, and the place.
        case locationAndToolCalls
    }

    /// A failed answer ends with an `error` event, a stopped one with a line that says so.
    public var presentsAnyEnding: Bool { true }
    public var waitsForModelServer: Bool { false }

    public func makeEncoder(_ context: AnswerContext) -> any AnswerEncoder {
        let encoder = ChatterdEventEncoder(model: context.model, retry: retry, showsQueue: showsQueue)
        guard let course else { return encoder }
        return CourseEventEncoder(encoder, namesToolCalls: course == .locationAndToolCalls)
    }

    /// Appends the last line with the whole answer in its message.
    public func append(_ answer: WholeAnswer, _ context: AnswerContext, to body: inout ByteBuffer) {
        let last = answer.lastLine.span
        // A reply passes only lines that it has read before, so the line has a message.
        guard let message = AnswerParts(last)?.message else { return }
        body.append(last.extracting(first: message.lowerBound))
        body.append(
            assistantSaying: answer.text.bytes, thinking: answer.thinking.bytes, toolCalls: answer.toolCalls.bytes)
        body.append(last.extracting(message.upperBound..<last.count))
    }
}

/// Writes an answer as the events of chatterd's own API: here a line of the model becomes bytes for the client.
struct ChatterdEventEncoder: AnswerEncoder {
    static let contentType = StreamType.events

    // In this order the encoder fits into an existential without a box.
    let model: String
    let retry: UInt32?
    let showsQueue: Bool

    func begin(to buffer: inout ByteBuffer) {
        if let retry { EventEncoder.append(retry: UInt(retry), to: &buffer) }
    }

    func append(_ lines: borrowing PositionedLines, to buffer: inout ByteBuffer) {
        guard lines.end.isPlainNumber else {
            for index in 0..<lines.count {
                EventEncoder.append(data: lines.line(at: index), to: &buffer) {
                    lines.position(after: index).append(to: &$0)
                }
            }
            return
        }
        buffer.append(upTo: lines.size + lines.count * EventEncoder.lineOverhead) { output in
            for index in 0..<lines.count {
                EventEncoder.append(
                    id: lines.position(after: index).text, line: lines.line(at: index), to: &output)
            }
        }
    }

    /// Appends a comment, and an event without an id if the client wants it: a client that comes back gets a new position.
    func append(_ queue: QueuePosition, at nanoseconds: Int64, to buffer: inout ByteBuffer) {
        EventEncoder.append(comment: "queued, position \(queue.position) of \(queue.length)", to: &buffer)
        guard showsQueue else { return }
        var data = ByteBuffer()
        ReplyEvents(model: model).appendQueuePosition(
            queue.position, of: queue.length, at: nanoseconds, upstream: queue.upstream, to: &data)
        EventEncoder.append(name: .queue, data: data.bytes, to: &buffer)
    }

    /// Appends an event without an id: a client that comes back gets the present state.
    func append(_ change: StepChange, to buffer: inout ByteBuffer) {
        var data = ByteBuffer()
        data.append(change)
        EventEncoder.append(name: .step, data: data.bytes, to: &buffer)
    }

    func reset(to position: ReplyPosition, at nanoseconds: Int64, to buffer: inout ByteBuffer) -> Bool {
        var data = ByteBuffer()
        ReplyEvents(model: model).appendReset(attempt: position.attempt, at: nanoseconds, to: &data)
        EventEncoder.append(name: .reset, data: data.bytes, to: &buffer) { position.append(to: &$0) }
        return true
    }

    func end(_ ending: ReplyEnding, at position: ReplyPosition, to buffer: inout ByteBuffer) {
        var position = position
        position.isEnd = true
        EventEncoder.append(name: ending.isError ? .error : nil, data: ending.lastEvent.span, to: &buffer) {
            position.append(to: &$0)
        }
    }

    /// Appends an `error` event without an id: the reply itself has not ended, and the client may come back for the rest.
    func fail(_ error: RelayError, at nanoseconds: Int64, to buffer: inout ByteBuffer) {
        var data = ByteBuffer()
        ReplyEvents(model: model).appendError(error, at: nanoseconds, to: &data)
        EventEncoder.append(name: .error, data: data.bytes, to: &buffer)
    }

    /// The clients of the course accept a comment only with a colon.
    func keepAlive(to buffer: inout ByteBuffer) {
        EventEncoder.append(comment: "keep-alive", to: &buffer)
    }
}

extension ReplyPosition {
    /// Whether the text form is only the number of text bytes, as in nearly every event.
    @inline(__always)
    fileprivate var isPlainNumber: Bool { attempt == 1 && thinking == 0 && toolCalls == 0 && !isEnd }
}
