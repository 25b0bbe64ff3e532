import ChatterdBasics
import ChatterdChat
import ChatterdTestSupport
import Testing

@testable import ChatterdRelay

/// Readers of a reply of their own shard.
@Suite(.timeLimit(.minutes(30))) struct SubscriptionTests {
    private let clock = ManualClock()
    private let scheduler: Scheduler
    private let reply = FakeReply()
    private let source: FakeSource
    private let limits = RelayLimits()

    init() {
        scheduler = clock.scheduler(of: clock.makeShard())
        source = FakeSource(reply)
    }

    private func start(_ reader: PartsReader, from position: ReplyPosition? = nil) {
        let subscription = ReplySubscription(
            reader, from: position ?? reader.position, of: source, lines: ReplyLines(model: "m", createdAt: 0),
            scheduler: scheduler, limits: limits)
        reader.subscription = subscription
        subscription.start()
    }

    @Test func readerThatKeepsUpGetsTheLinesOfTheModel() {
        let reader = PartsReader()
        start(reader)
        source.append("Hel")
        source.append(thinking: "hm", calls: #"{"a":1}"#)
        source.finish("lo")
        #expect(reader.string == "Hello" && reader.lines == 2)
        #expect(reader.ending?.lastEvent == reply.ending?.lastEvent)
        #expect(reply.asked.isEmpty)
        #expect(source.gone == 1)
        #expect(source.audience.isEmpty)
    }

    @Test func readerGetsNoLineBeforeItHasSubscribed() {
        source.append("Hello")
        let reader = PartsReader()
        start(reader)
        #expect(reader.lines == 0)
        clock.settle()
        #expect(reader.string == "Hello")
    }

    @Test func pageAndLinesDuringTheReadLeaveNoGap() {
        source.append("one ")
        reply.isSlow = true
        let reader = PartsReader()
        start(reader)
        clock.settle()
        source.append("two ")
        reply.release()
        clock.settle()
        source.append("three ")
        #expect(reader.string == "one two three ")
        #expect(reply.asked == [ReplyPosition()])
    }

    @Test func endedReplyIsReadToItsEnding() {
        reply.pageSize = 3
        source.append("Hello", thinking: "well", calls: #"{"a":1}"#)
        source.finish("!")
        let reader = PartsReader()
        start(reader)
        clock.settle()
        #expect(reader.string == "Hello!")
        #expect(reader.thinking == Array("well".utf8))
        #expect(reader.ending != nil && reader.ending != reply.ending)
        #expect(reader.position == reply.visible)
        #expect(source.gone == 1)
    }

    @Test func readerThatLacksOnlyTheEndingGetsIt() {
        source.append("Hello")
        source.finish()
        let first = PartsReader()
        start(first)
        clock.settle()
        let second = PartsReader(after: first)
        start(second)
        clock.settle()
        #expect(second.lines == 0 && second.ending != nil && second.string == "Hello")
    }

    @Test func modelWaitsForItsOnlyReader() {
        let reader = PartsReader()
        reader.room = 1
        start(reader)
        source.append("a")
        #expect(source.isPaused)
        reader.drain()
        #expect(!source.isPaused)
        #expect(reader.string == "a" && reply.asked.isEmpty)
    }

    @Test func fullReaderGetsNoTextInFlight() {
        let reader = PartsReader()
        reader.room = 1
        start(reader)
        source.append("a")
        for _ in 0..<300 { source.append("b") }
        clock.settle()
        #expect(reader.lines == 1 && reader.string == "a")
        #expect(source.isPaused)
        reader.drain()
        clock.settle()
        #expect(!source.isPaused)
        source.append("c")
        #expect(reader.string == "a" + String(repeating: "b", count: 300) + "c")
        #expect(reply.asked == [ReplyPosition(text: 1)])
    }

    @Test func fullReaderDoesNotBlockOtherReaders() {
        let (slow, fast) = (PartsReader(), PartsReader())
        slow.room = 1
        start(slow)
        start(fast)
        source.append("a")
        source.append("b")
        clock.settle()
        #expect(slow.string == "a" && fast.string == "ab" && source.audience.members.count == 1)
        slow.drain()
        clock.settle()
        #expect(slow.string == "ab" && source.audience.members.count == 2)
        source.append("c")
        #expect(slow.string == "abc" && fast.string == "abc")
        #expect(reply.asked == [ReplyPosition(text: 1)])
    }

    @Test func fullReaderGetsTheRestOfItsPageWithoutASecondRead() {
        source.append(String(repeating: "x", count: 5 * ReplyLines.longestText))
        let reader = PartsReader()
        reader.room = 2
        start(reader)
        clock.settle()
        #expect(reader.lines == 2)
        reader.drain(2)
        clock.settle()
        #expect(reader.lines == 4)
        reader.drain(1)
        clock.settle()
        #expect(reader.lines == 5 && reply.asked.count == 1 && source.audience.isEmpty)
        reader.drain()
        clock.settle()
        #expect(reply.asked.count == 1 && source.audience.members.count == 1)
    }

    @Test func fullReaderWithTheWholeTextGetsTheEnd() {
        let reader = PartsReader()
        reader.room = 1
        start(reader)
        source.append("a")
        source.finish()
        #expect(reader.ending != nil)
    }

    @Test func endMayArriveWhileAReaderCatchesUp() {
        source.append("Hello")
        reply.isSlow = true
        let reader = PartsReader()
        start(reader)
        clock.settle()
        source.finish(" there")
        reply.release()
        reply.isSlow = false
        clock.settle()
        #expect(reader.string == "Hello there" && reader.ending != nil && source.gone == 1)
    }

    @Test func readerFromAnotherAttemptIsReset() {
        source.append("old")
        let first = PartsReader()
        start(first)
        clock.settle()
        first.leave()
        reply.restart()
        source.append("new")
        let second = PartsReader(after: first)
        start(second)
        clock.settle()
        #expect(second.resets == 1 && second.string == "new" && second.position.attempt == 2)
        source.append("er")
        #expect(second.string == "newer")
    }

    @Test func readerBeyondTheEndOfTheReplyIsReset() {
        source.append("Hi")
        let reader = PartsReader(claiming: ReplyPosition(text: 100, thinking: 7))
        start(reader)
        clock.settle()
        source.append(" there")
        #expect(reader.lines == 0 && reader.resets == 0)
        source.finish("!")
        clock.settle()
        #expect(reader.resets == 1 && reader.string == "Hi there!" && reader.ending != nil)
    }

    @Test func readerAheadOfTheSourceSkipsItsOwnText() {
        source.append("He")
        let reader = PartsReader(claiming: ReplyPosition(text: 5))
        start(reader)
        for piece in ["l", "l", "o", "w"] { source.append(piece) }
        source.append(" and more")
        #expect(reader.string == "w and more" && reply.asked.isEmpty)
    }

    @Test func readerWithAPartOfALineGetsTheRest() {
        let reader = PartsReader(claiming: ReplyPosition(text: 3))
        start(reader)
        source.append("Hello")
        source.append(" there")
        clock.settle()
        #expect(reader.string == "lo there" && reply.asked == [ReplyPosition(text: 3)])
    }

    @Test(arguments: [ReplyPosition(text: 1), ReplyPosition(thinking: 1), ReplyPosition(toolCalls: 3)])
    func positionInTheMiddleOfACharacterOrCallIsAccepted(position: ReplyPosition) {
        source.append("éa", thinking: "öb", calls: #"{"a":1},{"b":2}"#)
        let reader = PartsReader(claiming: position)
        start(reader)
        clock.settle()
        #expect(reply.asked == [position] && source.audience.members.count == 1)
        source.append("c")
        #expect(reader.string == (position.text == 0 ? "éac" : "ac"))
        #expect(String(decoding: reader.thinking, as: UTF8.self) == (position.thinking == 0 ? "öb" : "b"))
        #expect(reader.calls.isEmpty == (position.toolCalls > 0))
        source.finish()
        #expect(reader.ending != nil)
    }

    @Test func readerThatLeavesGetsNoMoreCalls() {
        let (live, behind, full) = (PartsReader(), PartsReader(), PartsReader())
        start(live)
        full.room = 1
        start(full)
        source.append("a")
        reply.isSlow = true
        start(behind)
        clock.settle()
        for reader in [live, behind, full] {
            let subscription = reader.subscription
            reader.leave()
            subscription?.cancel()
            subscription?.listenerIsReady()
        }
        reply.release()
        clock.settle()
        source.append("b")
        source.finish()
        clock.settle()
        #expect(source.gone == 3 && behind.lines == 0 && live.string == "a" && full.string == "a")
        #expect(live.ending == nil && behind.ending == nil && full.ending == nil)
    }

    @Test func outageOfTheStoreIsNotNoticed() {
        source.append("Hello")
        reply.isUnavailable = true
        let reader = PartsReader()
        start(reader)
        clock.advance(by: .seconds(9))
        #expect(reader.error == nil)
        // 50 ms, 100, 200, 400, 800, then each second.
        #expect(reply.asked.count == 13)
        reply.isUnavailable = false
        clock.advance(by: .seconds(1))
        #expect(reader.string == "Hello" && reader.error == nil)
    }

    @Test func longOutageOfTheStoreIsReportedOnce() {
        source.append("Hello")
        reply.isUnavailable = true
        let reader = PartsReader()
        start(reader)
        clock.advance(by: .seconds(11))
        #expect(reader.error?.code == .storeUnavailable && source.gone == 1)
        let asked = reply.asked.count
        clock.advance(by: .seconds(30))
        #expect(reply.asked.count == asked)
    }

    @Test func goneReplyIsReportedAtOnce() {
        source.append("Hello")
        reply.faults = [RelayError(.replyNotFound, "gone")]
        let reader = PartsReader()
        start(reader)
        clock.settle()
        #expect(reader.error?.code == .replyNotFound && source.gone == 1)
    }

    @Test func subscriptionsAreReleased() {
        source.append("Hello")
        weak var ended: ReplySubscription?
        weak var left: ReplySubscription?
        do {
            let (first, second) = (PartsReader(), PartsReader())
            start(first)
            start(second)
            clock.settle()
            (ended, left) = (first.subscription, second.subscription)
            second.leave()
            source.finish()
            #expect(first.ending != nil)
        }
        #expect(ended == nil && left == nil)
    }

    /// Readers arrive, are full, leave and return at random times while the reply grows. Each line starts at the position of its
    /// reader, and in the end all readers have the whole reply.
    @Test(arguments: 0..<80 as Range<UInt64>)
    func readerGetsExactlyTheReplyInRandomCourses(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        reply.pageSize = [1, 7, 100, 1 << 18][Int.random(in: 0..<4, using: &random)]
        var readers = (0..<Int.random(in: 1...4, using: &random)).map { _ in PartsReader() }
        readers.forEach { start($0) }
        for step in 0..<Int.random(in: 5...120, using: &random) {
            let index = Int.random(in: 0..<readers.count, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0...2: source.append(random.text(upTo: 40), thinking: Bool.random(using: &random) ? "é\(step)" : "")
            case 3: source.append(calls: #"{"n":\#(step),"s":"],"}"#)
            case 4: readers[index].drain(Int.random(in: 1...4, using: &random))
            case 5: reply.isSlow = Bool.random(using: &random)
            case 6:
                readers[index].leave()
                let next = PartsReader(after: readers[index])
                next.room = Int.random(in: 1...9, using: &random)
                start(next)
                readers[index] = next
            case 7: reply.release()
            case 8: reply.faults = [RelayError(.storeUnavailable, "away")]
            default: clock.advance(by: .milliseconds(Int.random(in: 1...100, using: &random)))
            }
            if Bool.random(using: &random) { clock.settle() }
        }
        source.finish(random.text(upTo: 20))
        reply.settle(readers, clock)
        for reader in readers {
            #expect(reader.isOver && reader.error == nil && reader.resets == 0)
            #expect(reader.text == reply.text && reader.thinking == reply.thinking && reader.calls == reply.calls)
        }
    }
}
