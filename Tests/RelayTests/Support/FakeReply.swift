import ChatterdBasics
import ChatterdChat
import ChatterdTestSupport

@testable import ChatterdRelay

/// A reply in a store or on another shard, which can be read in pages.
final class FakeReply {
    private(set) var attempt = 1
    private(set) var text: [UInt8] = []
    private(set) var thinking: [UInt8] = []
    private(set) var calls: [UInt8] = []
    private(set) var ending: ReplyEnding?
    /// The end of the content that readers may see.
    private(set) var visible = ReplyPosition()
    /// The maximum size of a part in a page, but at least one character. Calls are not split.
    var pageSize = 1 << 18
    /// Whether pages wait for `release`.
    var isSlow = false
    /// The errors of the next reads.
    var faults: [RelayError] = []
    var isUnavailable = false
    /// The positions of all reads.
    private(set) var asked: [ReplyPosition] = []
    /// The bytes of all pages.
    private(set) var served = 0
    private var held: [CheckedContinuation<Void, Never>] = []

    /// Delivers the page that has waited longest, if any.
    func release() {
        if !held.isEmpty { held.removeFirst().resume() }
    }

    var isHolding: Bool { !held.isEmpty }

    /// Completes all reads, and empties full readers.
    func settle(_ readers: [PartsReader], _ clock: ManualClock) {
        isSlow = false
        repeat {
            release()
            readers.forEach { $0.drain() }
            clock.advance(by: .seconds(2))
        } while isHolding
    }

    // MARK: - Content

    /// Appends content, and returns the model's line for it.
    func append(text: String = "", thinking: String = "", calls: String = "", isDone: Bool = false) -> [UInt8] {
        self.text += text.utf8
        self.thinking += thinking.utf8
        if !calls.isEmpty {
            self.calls += (self.calls.isEmpty ? "" : ",").utf8
            self.calls += calls.utf8
        }
        var line = ByteBuffer()
        line.append("{\"message\":{\"tool_calls\":[")
        line.append(utf8: calls)
        line.append("],\"thinking\":")
        line.append(jsonString: thinking)
        line.append(",\"role\":\"assistant\",\"content\":")
        line.append(jsonString: text)
        line.append("},\"model\":\"m\",\"done\":")
        line.append(isDone ? "true,\"eval_count\":7}" : "false}")
        if !isDone { visible = end }
        return line.array
    }

    /// Ends the reply. The last line may have text.
    @discardableResult
    func finish(text: String = "", state: ReplyState = .complete) -> ReplyEnding {
        let ending = ReplyEnding(state: state, lastEvent: append(text: text, isDone: true))
        self.ending = ending
        visible = end
        visible.isEnd = true
        return ending
    }

    /// Ends the reply by the death of its process.
    func die() {
        ending = ReplyEnding(state: .interrupted, lastEvent: [])
        visible.isEnd = true
    }

    /// Restarts the reply, as another process does.
    func restart() {
        attempt += 1
        (text, thinking, calls, ending) = ([], [], [], nil)
        visible = ReplyPosition(attempt: attempt)
    }

    private var end: ReplyPosition {
        ReplyPosition(attempt: attempt, text: text.count, thinking: thinking.count, toolCalls: calls.count)
    }

    // MARK: - Reading

    func page(from position: ReplyPosition) async throws(RelayError) -> ReplyPage {
        asked.append(position)
        if isSlow {
            await withCheckedContinuation { held.append($0) }
        }
        if isUnavailable { throw RelayError(.storeUnavailable, "away") }
        if !faults.isEmpty { throw faults.removeFirst() }
        let page = cut(from: position)
        served += page.end.total - page.start.total
        return page
    }

    private func cut(from position: ReplyPosition) -> ReplyPage {
        var start = position
        if position.attempt != attempt || ending != nil && !visible.covers(position) {
            start = ReplyPosition(attempt: attempt)
        }
        start.isEnd = false
        var page = ReplyPage(start: start)
        page.thinking = piece(of: thinking[..<visible.thinking], from: start.thinking)
        if start.thinking + page.thinking.count >= visible.thinking {
            page.text = piece(of: text[..<visible.text], from: start.text)
        }
        if start.text + page.text.count >= visible.text {
            page.toolCalls = Array(calls[..<visible.toolCalls].dropFirst(start.toolCalls))
        }
        if page.end.covers(visible) { page.ending = ending }
        return page
    }

    private func piece(of bytes: ArraySlice<UInt8>, from start: Int) -> [UInt8] {
        guard start < bytes.count else { return [] }
        var end = min(bytes.count, start + pageSize)
        while end < bytes.count, bytes[end] & 0xC0 == 0x80 { end += 1 }
        return Array(bytes[start..<end])
    }
}

/// A reply on its own shard: attached readers receive the lines of the model.
final class FakeSource: ReplySource {
    let reply: FakeReply
    private(set) var audience = ReplyAudience()
    /// The number of readers that have left or received the end.
    private(set) var gone = 0
    /// Whether the model is paused for its only reader.
    private(set) var isPaused = false

    init(_ reply: FakeReply) {
        self.reply = reply
    }

    var position: ReplyPosition { reply.visible }

    func attach(_ subscription: ReplySubscription) {
        audience.attach(subscription)
        isPaused = false
    }

    func detach(_ subscription: ReplySubscription) { audience.detach(subscription) }

    func drained(_ subscription: ReplySubscription) { isPaused = false }

    func left(_ subscription: ReplySubscription) { gone += 1 }

    func page(from position: ReplyPosition) async throws(RelayError) -> ReplyPage {
        try await reply.page(from: position)
    }

    func append(_ text: String = "", thinking: String = "", calls: String = "") {
        let line = reply.append(text: text, thinking: thinking, calls: calls)
        for member in audience.members.elements where !member.receive(PositionedLines(line.span, to: reply.visible)) {
            if audience.members.count == 1 {
                isPaused = true
            } else {
                member.fallBehind()
            }
        }
    }

    func finish(_ text: String = "") {
        let ending = reply.finish(text: text)
        for member in audience.members.elements {
            member.receive(ending: ending, at: reply.visible)
        }
    }
}
