import ChatterdBasics
import ChatterdChat
import ChatterdHTTP
import ChatterdRelay

/// Writes an answer for client apps of the course (docs/api.md): the events of chatterd's own API, and those that only these apps know. An app
/// that ignores unknown events sees the same text.
struct CourseEventEncoder: AnswerEncoder {
    static let contentType = StreamType.events

    private let base: ChatterdEventEncoder
    /// Whether calls of tools are events of their own, in the place of lines.
    private let namesToolCalls: Bool
    /// The position of the calls that are written.
    private var calls = 0
    private var marker = LocationMarker()

    init(_ base: ChatterdEventEncoder, namesToolCalls: Bool) {
        self.base = base
        self.namesToolCalls = namesToolCalls
    }

    func begin(to buffer: inout ByteBuffer) { base.begin(to: &buffer) }

    mutating func append(_ lines: borrowing PositionedLines, to buffer: inout ByteBuffer) {
        readMarker(in: lines)
        // Only a line of another shape than that of tokens has calls, and is alone.
        if namesToolCalls, lines.end.toolCalls != calls, let line = try? AnswerLine(lines.line(at: 0)) {
            appendParts(of: line, in: lines.line(at: 0), to: lines.end, &buffer)
        } else {
            base.append(lines, to: &buffer)
        }
    }

    func append(_ queue: QueuePosition, at nanoseconds: Int64, to buffer: inout ByteBuffer) {
        base.append(queue, at: nanoseconds, to: &buffer)
    }

    func append(_ change: StepChange, to buffer: inout ByteBuffer) { base.append(change, to: &buffer) }

    mutating func reset(to position: ReplyPosition, at nanoseconds: Int64, to buffer: inout ByteBuffer) -> Bool {
        calls = position.toolCalls
        marker = LocationMarker()
        return base.reset(to: position, at: nanoseconds, to: &buffer)
    }

    /// Appends the last line, and after it the event with the place that a complete answer names. The apps keep the type of that event for all
    /// data that follow it, so that nothing may follow it.
    mutating func end(_ ending: ReplyEnding, at position: ReplyPosition, to buffer: inout ByteBuffer) {
        guard !ending.isError, let line = try? AnswerLine(ending.lastEvent.span) else {
            base.end(ending, at: position, to: &buffer)
            return
        }
        readMarker(of: line, in: ending.lastEvent.span)
        var ending = ending
        if namesToolCalls, position.toolCalls != calls {
            // A client that comes back after the calls gets the last line.
            var middle = position
            middle.isEnd = false
            appendParts(of: line, in: ending.lastEvent.span, to: middle, &buffer)
            var last = ByteBuffer()
            last.append(emptying: line, in: ending.lastEvent.span)
            ending.lastEvent = last.array
        }
        base.end(ending, at: position, to: &buffer)
        guard ending.state == .complete, let place = marker.location else { return }
        var data = ByteBuffer()
        data.append(utf8: "{\"lat\": \(place.latitude.text), \"lon\": \(place.longitude.text)}")
        EventEncoder.append(name: .location, data: data.bytes, to: &buffer)
    }

    func fail(_ error: RelayError, at nanoseconds: Int64, to buffer: inout ByteBuffer) {
        base.fail(error, at: nanoseconds, to: &buffer)
    }

    func keepAlive(to buffer: inout ByteBuffer) { base.keepAlive(to: &buffer) }

    // MARK: - Calls of tools

    /// Appends a line that has calls of tools: first its text and thoughts if it has any, then the calls, each as a line that is not the last.
    private mutating func appendParts(
        of line: AnswerLine, in bytes: Span<UInt8>, to end: ReplyPosition, _ buffer: inout ByteBuffer
    ) {
        var middle = end
        middle.toolCalls = calls
        calls = end.toolCalls
        if line.content?.range.isEmpty == false || line.thinking?.range.isEmpty == false {
            var text = ByteBuffer()
            text.append(emptyingCallsOf: line, in: bytes)
            Self.write(line.isDone ? Self.continuing(text) : text, at: middle, to: &buffer)
        }
        var data = ByteBuffer()
        data.append(emptyingTextOf: line, in: bytes)
        Self.write(line.isDone ? Self.continuing(data) : data, as: .toolCalls, at: end, to: &buffer)
    }

    private static func write(
        _ data: ByteBuffer, as name: EventName? = nil, at position: ReplyPosition, to buffer: inout ByteBuffer
    ) {
        EventEncoder.append(name: name, data: data.bytes, to: &buffer) { position.append(to: &$0) }
    }

    /// The last line as one that others follow.
    private static func continuing(_ line: ByteBuffer) -> ByteBuffer {
        var result = ByteBuffer(capacity: line.count)
        result.appendJSON { json in
            json.object { json in
                JSONMembers.forEach(of: line.bytes) { reader, key, value in
                    guard
                        reader.matches(key, "model") || reader.matches(key, "created_at")
                            || reader.matches(key, "message")
                    else { return }
                    json.member(
                        String(decodingJSON: line.bytes.extracting(key.range)), raw: line.bytes.extracting(value))
                }
                json.member("done", false)
            }
        }
        return result
    }

    // MARK: - The place

    private mutating func readMarker(in lines: borrowing PositionedLines) {
        guard marker.location == nil else { return }
        guard !lines.areTokens else {
            for index in 0..<lines.count { marker.read(lines.text(ofToken: index)) }
            return
        }
        let line = lines.line(at: 0)
        // Most lines need not be parsed for it.
        guard !marker.isBetweenMarkers || line.contains(LocationMarker.firstByte), let fields = try? AnswerLine(line)
        else { return }
        readMarker(of: fields, in: line)
    }

    private mutating func readMarker(of line: AnswerLine, in bytes: Span<UInt8>) {
        if let content = line.content { marker.read(bytes.extracting(content.range)) }
    }
}

extension Span<UInt8> {
    fileprivate func contains(_ byte: UInt8) -> Bool {
        withUnsafeBufferPointer { $0.contains(byte) }
    }
}
