import ChatterdBasics
import ChatterdChat
import Testing

@testable import ChatterdRelay

/// Assembles the parts of a reply, and checks that the content of each line agrees with its position.
final class PartsReader: ReplyListener {
    private(set) var text: [UInt8] = []
    private(set) var thinking: [UInt8] = []
    private(set) var calls: [UInt8] = []
    private(set) var position: ReplyPosition
    private(set) var lines = 0
    private(set) var longest = 0
    private(set) var resets = 0
    private(set) var ending: ReplyEnding?
    private(set) var error: RelayError?
    /// The number of lines that the reader receives before it is full.
    var room = Int.max
    var subscription: ReplySubscription?
    /// Whether the reader has invented its position, and lacks the content before it.
    private var hasInvented = false

    init() {
        position = ReplyPosition()
    }

    /// Creates a reader that claims to have read up to a position.
    init(claiming position: ReplyPosition) {
        self.position = position
        hasInvented = true
    }

    /// Creates a reader that continues where another one has stopped.
    init(after other: PartsReader) {
        (text, thinking, calls, position) = (other.text, other.thinking, other.calls, other.position)
    }

    var isOver: Bool { ending != nil || error != nil }

    var string: String { String(decoding: text, as: UTF8.self) }

    /// Empties the reader, which can then receive the given number of lines.
    func drain(_ room: Int = .max) {
        self.room = room
        subscription?.listenerIsReady()
    }

    func leave() {
        subscription?.cancel()
        subscription = nil
    }

    func receive(_ run: PositionedLines) -> Bool {
        for index in 0..<run.count {
            receive(run.line(at: index), to: run.position(after: index))
        }
        return room > 0
    }

    private func receive(_ line: Span<UInt8>, to position: ReplyPosition) {
        #expect(!isOver, "a line after the end")
        #expect(!position.isEnd)
        append(line)
        check(position)
        lines += 1
        longest = max(longest, line.count)
        room -= 1
    }

    func isQueued(at position: QueuePosition) {}

    func reset(to position: ReplyPosition) {
        #expect(!isOver, "a reset after the end")
        (text, thinking, calls) = ([], [], [])
        self.position = position
        resets += 1
        hasInvented = false
    }

    func end(_ ending: ReplyEnding, at position: ReplyPosition) {
        #expect(!isOver, "two ends")
        #expect(position.isEnd)
        self.ending = ending
        if !ending.isError {
            append(ending.lastEvent.span)
        }
        check(position)
        subscription = nil
    }

    func fail(_ error: RelayError) {
        #expect(!isOver, "two ends")
        self.error = error
        subscription = nil
    }

    private func append(_ line: Span<UInt8>) {
        guard let fields = try? AnswerLine(line) else {
            Issue.record("not a line")
            return
        }
        var buffer = ByteBuffer()
        if let content = fields.content { buffer.append(decodingJSON: line.extracting(content.range)) }
        text += buffer.array
        buffer.removeAll()
        if let thought = fields.thinking { buffer.append(decodingJSON: line.extracting(thought.range)) }
        thinking += buffer.array
        buffer.removeAll()
        if let array = fields.toolCalls {
            if !calls.isEmpty { buffer.append(UInt8(ascii: ",")) }
            buffer.append(line.extracting((array.lowerBound + 1)..<(array.upperBound - 1)))
        }
        calls += buffer.array
    }

    private func check(_ position: ReplyPosition) {
        defer { self.position = position }
        guard !hasInvented else { return }
        #expect(position.text == text.count && position.thinking == thinking.count)
        #expect(position.toolCalls == calls.count && position.attempt == self.position.attempt)
    }
}
