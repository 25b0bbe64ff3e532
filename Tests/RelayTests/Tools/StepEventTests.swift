import ChatterdChat
import ChatterdRelay
import Testing

/// What readers that follow steps get.
@Suite(.timeLimit(.minutes(30))) struct StepEventTests {
    @Test func readerGetsEachChange() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", offering: ["f", "g"], followingSteps: true)
        try relay.call("f", "g", saying: "Look. ")
        #expect(post.reader.steps == ["0.0 f running", "0.1 g waiting"])
        try relay.end(0, "1")
        try relay.end(1, "Error: no", isError: true)
        #expect(post.reader.steps.suffix(3) == ["0.0 f done", "0.1 g running", "0.1 g failed"])
        try relay.call("f")
        try relay.end(2, "1")
        try relay.complete("Done.")
        #expect(post.isComplete && post.reader.text == "Look. Done.")
        #expect(post.reader.steps.suffix(2) == ["1.0 f running", "1.0 f done"] && post.reader.steps.count == 7)
    }

    @Test func readerThatDoesNotAskGetsNone() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", offering: ["f"])
        try relay.call("f")
        try relay.end(0, "1")
        try relay.complete("Done.")
        #expect(post.isComplete && post.reader.steps.isEmpty)
    }

    @Test func changeIsSentAfterItIsStored() throws {
        let relay = TestRelay()
        relay.store.faults[.storeSteps] = [.hang]
        let post = relay.post("Hi", offering: ["f"], followingSteps: true)
        try relay.call("f")
        #expect(post.reader.steps.isEmpty)
        relay.store.release(.storeSteps)
        relay.clock.settle()
        #expect(post.reader.steps == ["0.0 f running"])
    }

    /// On the shard of the reply, on another one, and in another process.
    @Test(arguments: 0...2) func laterReaderGetsThePresentStateAndThenChanges(place: Int) throws {
        let relay = TestRelay()
        relay.startJournal()
        let post = relay.post("Hi", offering: ["f", "g"])
        try relay.call("f", "g", saying: "Look. ")
        try relay.end(0, "1")
        relay.clock.advance(by: .seconds(1))
        let reading = [relay, relay.otherShard(), relay.otherProcess()][place]
        let reader = try reading.read(post, followingSteps: true)
        let other = try reading.read(post)
        relay.clock.advance(by: .seconds(1))
        #expect(reader.steps == ["0.0 f done", "0.1 g running"] && reader.text == "Look. ")
        try relay.end(1, "2")
        relay.clock.advance(by: .seconds(1))
        #expect(reader.steps.suffix(1) == ["0.1 g done"])
        try relay.complete("Done.")
        relay.clock.advance(by: .seconds(1))
        #expect(reader.isDone && reader.text == "Look. Done." && reader.steps.count == 3)
        #expect(other.isDone && other.text == "Look. Done." && other.steps.isEmpty)
    }

    @Test(arguments: [true, false]) func readerOfAReplyThatHasEndedGetsTheLastState(isOwner: Bool) throws {
        let relay = TestRelay()
        let post = relay.post("Hi", offering: ["f"])
        try relay.call("f")
        try relay.end(0, "1")
        try relay.complete("Done.")
        let reader = try (isOwner ? relay : relay.otherProcess()).read(post, followingSteps: true)
        #expect(reader.steps == ["0.0 f done"] && reader.isDone)
    }

    @Test func readerOfATakenOverReplyGetsItsSteps() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", onInterrupt: .regenerate, offering: ["f"])
        try relay.call("f")
        let other = relay.takeOver()
        let reader = try other.read(post, followingSteps: true)
        #expect(reader.steps == ["0.0 f unknown"])
    }

    /// A stop ends the calls that run. Their last state precedes the end.
    @Test func stopIsSentAsAChange() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", offering: ["f"], followingSteps: true)
        try relay.call("f")
        _ = relay.stop(post)
        #expect(post.reader.steps == ["0.0 f running", "0.0 f unknown"])
        #expect(post.ending?.hasPrefix("cancelled") == true)
    }

    /// A reader knows where a round ends before it gets the text of the next one: on the shard of the reply, on another one, and in another
    /// process; also if it begins late, or cannot receive more for a while.
    @Test(arguments: 0...2, [true, false]) func textOfTheNextRoundFollowsTheCalls(place: Int, isFull: Bool) throws {
        let relay = TestRelay()
        relay.startJournal()
        let post = relay.post("Hi", offering: ["f"])
        let reading = [relay, relay.otherShard(), relay.otherProcess()][place]
        let early = try reading.read(post, followingSteps: true)
        early.isFull = isFull
        try relay.call("f", saying: "One. ")
        relay.clock.advance(by: .seconds(1))
        try relay.end(0, "1")
        try relay.call("f", saying: "Two. ")
        relay.clock.advance(by: .seconds(1))
        let late = try reading.read(post, followingSteps: true)
        late.isFull = isFull
        try relay.end(1, "2")
        let answer = try relay.answer()
        for _ in 0..<3 {
            answer.send("Three. ")
            relay.clock.advance(by: .seconds(1))
        }
        for reader in [early, late] {
            reader.isFull = false
            reading.subscription(of: reader)?.listenerIsReady()
        }
        relay.clock.advance(by: .seconds(1))
        try relay.complete("Done.")
        relay.clock.advance(by: .seconds(1))
        for reader in [early, late] {
            #expect(reader.isDone && reader.text == "One. Two. Three. Three. Three. Done.")
            // What precedes the calls of each round.
            let ends = [5, 10]
            var (rounds, count) = (0, 0)
            for entry in reader.course {
                guard entry.hasPrefix("…") else {
                    rounds = max(rounds, (Int(entry.prefix(1)) ?? 0) + 1)
                    continue
                }
                count += entry.dropFirst().utf8.count
                #expect(rounds == 2 || count <= ends[rounds], "\(reader.course)")
            }
        }
    }

    @Test func textOfATakenOverReplyFollowsItsSteps() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", onInterrupt: .regenerate, offering: ["f"])
        try relay.call("f", saying: "One. ")
        try relay.end(0, "1")
        let other = relay.takeOver()
        let reader = try other.read(post, followingSteps: true)
        try other.complete("Done.")
        #expect(reader.course.first == "0.0 f done" && reader.text == "One. Done.")
    }

    @Test func fullReaderGetsThePresentStateWhenItIsReady() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", offering: ["f"], followingSteps: true)
        post.reader.isFull = true
        try relay.call("f", saying: "Look. ")
        try relay.end(0, "1")
        #expect(post.reader.steps.isEmpty)
        post.reader.isFull = false
        relay.run { _ in post.subscription?.listenerIsReady() }
        #expect(post.reader.steps == ["0.0 f done"])
    }
}
