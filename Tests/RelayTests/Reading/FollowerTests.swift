import ChatterdChat
import ChatterdTestSupport
import Testing

@testable import ChatterdRelay

/// Readers of a reply of another shard or process.
@Suite(.timeLimit(.minutes(30))) struct FollowerTests {
    private final class Counts {
        var keepAlive = 0
        var idle = 0
    }

    private let clock = ManualClock()
    private let scheduler: Scheduler
    private let reply = FakeReply()
    private let limits = RelayLimits()
    private let counts = Counts()

    init() {
        scheduler = clock.scheduler(of: clock.makeShard())
    }

    /// A follower of a reply of another process, or, without a tick, of another shard.
    private func follow(
        from position: ReplyPosition = ReplyPosition(), tick: Duration? = .milliseconds(200), fullPage: Int = 1
    ) -> ReplyFollower {
        ReplyFollower(
            from: position, tick: tick, lines: ReplyLines(model: "m", createdAt: 0),
            hooks: .init(
                pull: { [reply] position, _ throws(RelayError) in try await reply.page(from: position) },
                keepAlive: { [counts] in counts.keepAlive += 1 }, onIdle: { [counts] in counts.idle += 1 }),
            scheduler: scheduler, limits: limits, fullPage: fullPage)
    }

    private func start(_ reader: PartsReader, on follower: ReplyFollower) {
        reader.subscription = follower.subscribe(reader, from: reader.position)
    }

    private func append(_ text: String = "", thinking: String = "", calls: String = "") {
        _ = reply.append(text: text, thinking: thinking, calls: calls)
    }

    @Test func existingTextIsReadAtOnceAndNewTextOncePerTick() {
        append("one ")
        let follower = follow(fullPage: 1000)
        let reader = PartsReader()
        start(reader, on: follower)
        clock.settle()
        #expect(reader.string == "one ")
        append("two ")
        clock.advance(by: .milliseconds(199))
        #expect(reader.string == "one " && reply.asked.count == 1)
        clock.advance(by: .milliseconds(1))
        #expect(reader.string == "one two ")
        clock.advance(by: .seconds(2))
        #expect(reply.asked.count == 12)
        reply.finish(text: "three")
        clock.advance(by: .milliseconds(200))
        #expect(reader.string == "one two three" && reader.ending != nil)
        let asked = reply.asked.count
        clock.advance(by: .seconds(60))
        #expect(reply.asked.count == asked)
    }

    @Test func signalOfAnotherShardStartsARead() {
        let follower = follow(tick: nil)
        let reader = PartsReader()
        start(reader, on: follower)
        clock.advance(by: .seconds(30))
        #expect(reply.asked.count == 1)
        append("Hello")
        follower.signal()
        clock.settle()
        #expect(reader.string == "Hello" && reader.lines == 1)
        reply.finish()
        follower.signal()
        clock.settle()
        #expect(reader.ending != nil)
    }

    @Test func signalDuringAReadIsNotLost() {
        let follower = follow(tick: nil, fullPage: 1000)
        let reader = PartsReader()
        reply.isSlow = true
        start(reader, on: follower)
        clock.settle()
        reply.isSlow = false
        reply.release()
        clock.settle()
        reply.isSlow = true
        follower.signal()
        clock.settle()
        append("late")
        follower.signal()
        follower.signal()
        reply.isSlow = false
        reply.release()
        clock.settle()
        #expect(reader.string == "late")
        #expect(reply.asked.count == 3)
    }

    @Test func thousandReadersCostOneRead() {
        let follower = follow()
        let readers = (0..<1000).map { _ in PartsReader() }
        readers.forEach { start($0, on: follower) }
        for number in 0..<50 {
            append("word \(number) ", thinking: "hm")
            clock.advance(by: .milliseconds(200))
        }
        reply.finish(text: "end")
        clock.advance(by: .milliseconds(200))
        #expect(readers.allSatisfy { $0.text == reply.text && $0.ending != nil })
        #expect(reply.served == reply.visible.total)
        #expect(counts.keepAlive == 3)
    }

    @Test func thousandFullReadersFallBehindAtOnceAndCatchUp() {
        let follower = follow()
        let readers = (0..<1000).map { _ in PartsReader() }
        for reader in readers {
            reader.room = 1
            start(reader, on: follower)
        }
        append(String(repeating: "x", count: 3 * ReplyLines.longestText))
        clock.settle()
        #expect(readers.allSatisfy { $0.lines == 1 })
        readers.forEach { $0.drain() }
        clock.settle()
        #expect(readers.allSatisfy { $0.text == reply.text })
        #expect(reply.served == reply.visible.total)
    }

    @Test func readerThatKeepsUpCausesNoSecondRead() {
        reply.pageSize = 1
        let follower = follow()
        let reader = PartsReader()
        start(reader, on: follower)
        for number in 0..<30 {
            append("wörd \(number) ", thinking: "ü")
            clock.advance(by: .milliseconds(70))
        }
        reply.finish()
        clock.advance(by: .milliseconds(200))
        #expect(reader.text == reply.text && reader.ending != nil)
        #expect(reply.served == reply.visible.total)
    }

    @Test func lateReaderCatchesUpByItself() {
        let follower = follow()
        let first = PartsReader()
        start(first, on: follower)
        append("one ")
        clock.advance(by: .milliseconds(200))
        let second = PartsReader()
        start(second, on: follower)
        clock.settle()
        #expect(second.string == "one ")
        let asked = reply.asked.count
        append("two ")
        clock.advance(by: .milliseconds(200))
        #expect(first.string == "one two " && second.string == "one two ")
        // One read, and another one that shows the end of the content.
        #expect(reply.asked.count == asked + 2)
    }

    @Test func readerBeyondTheFollowerSkipsItsOwnText() {
        let follower = follow(fullPage: 1000)
        let first = PartsReader()
        start(first, on: follower)
        clock.settle()
        append("Hello")
        let source = FakeSource(reply)
        let ahead = PartsReader()
        ahead.subscription = ReplySubscription(
            ahead, from: ReplyPosition(), of: source, lines: ReplyLines(model: "m", createdAt: 0),
            scheduler: scheduler, limits: limits)
        ahead.subscription?.start()
        clock.settle()
        ahead.leave()
        let again = PartsReader(after: ahead)
        start(again, on: follower)
        clock.settle()
        #expect(first.lines == 0 && again.lines == 0)
        append(" there")
        clock.advance(by: .milliseconds(200))
        #expect(first.string == "Hello there" && again.string == "Hello there" && again.lines == 1)
        reply.finish(text: "!")
        clock.advance(by: .milliseconds(200))
        #expect(first.ending != nil && again.ending != nil && again.resets == 0)
    }

    @Test func pageForReadersThatHaveLeftIsNoRestart() {
        append("Hello")
        let follower = follow(fullPage: 1000)
        let first = PartsReader()
        reply.isSlow = true
        start(first, on: follower)
        clock.settle()
        first.leave()
        let second = PartsReader(claiming: ReplyPosition(text: 4))
        start(second, on: follower)
        reply.isSlow = false
        reply.release()
        clock.settle()
        #expect(second.string == "o" && second.resets == 0)
        #expect(reply.asked == [ReplyPosition(), ReplyPosition(text: 4)])
    }

    @Test func readerBeyondTheEndIsReset() {
        let follower = follow(from: ReplyPosition(text: 50))
        let lost = PartsReader(claiming: ReplyPosition(text: 50))
        start(lost, on: follower)
        clock.settle()
        // The lost reader does not prevent others from reading, although the follower accepted its position.
        let other = PartsReader()
        start(other, on: follower)
        append("Hello")
        clock.advance(by: .milliseconds(400))
        #expect(other.string == "Hello" && lost.lines == 0 && lost.resets == 0)
        reply.finish(text: "!")
        clock.advance(by: .milliseconds(400))
        #expect(other.string == "Hello!" && other.ending != nil && other.resets == 0)
        #expect(lost.string == "Hello!" && lost.ending != nil && lost.resets == 1)
    }

    @Test func restartedReplyIsReadAgainByAllReaders() {
        let follower = follow()
        let (first, second, slow) = (PartsReader(), PartsReader(), PartsReader())
        slow.room = 1
        for reader in [first, second, slow] { start(reader, on: follower) }
        append("old", thinking: "hm")
        clock.advance(by: .milliseconds(200))
        reply.restart()
        append("new")
        clock.advance(by: .milliseconds(200))
        slow.drain()
        clock.advance(by: .milliseconds(200))
        for reader in [first, second, slow] {
            #expect(reader.string == "new" && reader.resets == 1 && reader.position.attempt == 2)
        }
        reply.finish()
        clock.advance(by: .milliseconds(200))
        #expect(first.ending != nil && second.ending != nil && slow.ending != nil)
    }

    @Test func replyOfADeadProcessEndsWithAnError() {
        let follower = follow()
        let reader = PartsReader()
        start(reader, on: follower)
        append("Hel")
        clock.advance(by: .milliseconds(200))
        reply.die()
        clock.advance(by: .milliseconds(200))
        #expect(reader.string == "Hel" && reader.ending?.state == .interrupted)
        #expect(reader.ending.map { String(decoding: $0.lastEvent, as: UTF8.self).contains("interrupted") } == true)
    }

    @Test func shortOutageOfTheStoreIsNotNoticed() {
        let follower = follow()
        let reader = PartsReader()
        start(reader, on: follower)
        clock.settle()
        reply.isUnavailable = true
        append("Hello")
        clock.advance(by: .seconds(9))
        follower.signal()
        #expect(reader.error == nil)
        reply.isUnavailable = false
        clock.advance(by: .seconds(1))
        #expect(reader.string == "Hello")
        reply.isUnavailable = true
        clock.advance(by: .seconds(9))
        reply.isUnavailable = false
        clock.advance(by: .seconds(1))
        #expect(reader.error == nil)
    }

    @Test func longOutageIsReportedToAllReadersAndTheNextReaderTriesAgain() {
        let follower = follow()
        let readers = [PartsReader(), PartsReader()]
        readers.forEach { start($0, on: follower) }
        clock.settle()
        reply.isUnavailable = true
        clock.advance(by: .seconds(11))
        #expect(readers.allSatisfy { $0.error?.code == .storeUnavailable })
        let next = PartsReader()
        start(next, on: follower)
        clock.advance(by: .seconds(5))
        #expect(next.error == nil)
        reply.isUnavailable = false
        append("Hello")
        clock.advance(by: .seconds(1))
        #expect(next.string == "Hello")
    }

    @Test func generatingProcessGetsAReadSignalEveryFourSeconds() {
        let follower = follow()
        let reader = PartsReader()
        start(reader, on: follower)
        #expect(counts.keepAlive == 1)
        clock.advance(by: .seconds(12))
        #expect(counts.keepAlive == 4)
        // A full reader is a reader, too.
        reader.room = 1
        append("a")
        clock.advance(by: .seconds(1))
        append("b")
        clock.advance(by: .seconds(7))
        #expect(reader.lines == 1 && counts.keepAlive == 6)
        reader.leave()
        clock.advance(by: .seconds(9))
        #expect(counts.keepAlive == 6 && counts.idle == 0)
        clock.advance(by: .seconds(1))
        #expect(counts.idle == 1)
        clock.advance(by: .seconds(60))
        #expect(counts.idle == 1 && counts.keepAlive == 6)
    }

    @Test func changingReadersCauseNoMoreReadSignals() {
        let follower = follow()
        for _ in 0..<100 {
            let reader = PartsReader()
            start(reader, on: follower)
            clock.settle()
            reader.leave()
            clock.advance(by: .milliseconds(10))
        }
        #expect(counts.keepAlive == 1)
        #expect(counts.idle == 0)
    }

    @Test func replyThatMovesToAnotherProcessIsPolledOncePerTick() {
        let follower = follow(tick: nil)
        let reader = PartsReader()
        start(reader, on: follower)
        clock.settle()
        follower.tick = .milliseconds(200)
        append("Hello")
        clock.advance(by: .milliseconds(200))
        #expect(reader.string == "Hello")
    }

    @Test func followerWithoutReadersIsReleased() {
        weak var gone: ReplyFollower?
        do {
            let follower = follow()
            gone = follower
            let reader = PartsReader()
            start(reader, on: follower)
            clock.settle()
            reader.leave()
        }
        clock.settle()
        #expect(gone == nil)
    }

    /// Readers arrive, are full, leave and return at random times while the reply grows and sometimes restarts.
    @Test(arguments: 0..<80 as Range<UInt64>)
    func readerGetsExactlyTheReplyInRandomCourses(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        reply.pageSize = [1, 7, 100, 1 << 18][Int.random(in: 0..<4, using: &random)]
        let isPoked = Bool.random(using: &random)
        let follower = follow(tick: isPoked ? nil : .milliseconds(200))
        var readers = (0..<Int.random(in: 1...4, using: &random)).map { _ in PartsReader() }
        readers.forEach { start($0, on: follower) }
        for step in 0..<Int.random(in: 5...120, using: &random) {
            let index = Int.random(in: 0..<readers.count, using: &random)
            switch Int.random(in: 0..<12, using: &random) {
            case 0...2: append(random.text(upTo: 40), thinking: Bool.random(using: &random) ? "é\(step)" : "")
            case 3: append(calls: #"{"n":\#(step),"s":"],"}"#)
            case 4: readers[index].drain(Int.random(in: 1...4, using: &random))
            case 5: reply.isSlow = Bool.random(using: &random)
            case 6:
                readers[index].leave()
                let next = PartsReader(after: readers[index])
                next.room = Int.random(in: 1...9, using: &random)
                start(next, on: follower)
                readers[index] = next
            case 7: reply.release()
            case 8: reply.faults = [RelayError(.storeUnavailable, "away")]
            case 9 where seed % 3 == 0 && step % 7 == 0: reply.restart()
            case 10 where seed % 5 == 0:
                let lost = PartsReader(claiming: ReplyPosition(text: 1_000_000 + step))
                start(lost, on: follower)
            default: clock.advance(by: .milliseconds(Int.random(in: 1...300, using: &random)))
            }
            if isPoked { follower.signal() }
            if Bool.random(using: &random) { clock.settle() }
        }
        reply.finish(text: random.text(upTo: 20))
        follower.signal()
        reply.settle(readers, clock)
        for reader in readers {
            #expect(reader.isOver && reader.error == nil)
            #expect(reader.text == reply.text && reader.thinking == reply.thinking && reader.calls == reply.calls)
            #expect(reader.resets < reply.attempt || seed % 5 == 0)
        }
    }
}
