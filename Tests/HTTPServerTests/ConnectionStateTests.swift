import ChatterdHTTP
import Testing

@testable import ChatterdHTTPServer

/// Transcripts; time is moved by hand.
@Suite(.timeLimit(.minutes(30))) struct ConnectionStateTests {
    private static let second: UInt64 = 1_000_000_000

    private func makeState() -> ConnectionState {
        ConnectionState(timing: Timing(Limits()), now: 0)
    }

    /// A state in which a GET waits for its response, at one second.
    private func makeResponding(wantsPersistence: Bool = true) -> ConnectionState {
        var state = makeState()
        _ = state.received(100, at: Self.second)
        _ = state.headCompleted(
            wantsPersistence: wantsPersistence, hasBody: false, expectsContinue: false, isBodyHere: false,
            at: Self.second)
        return state
    }

    @Test func aRequestWithoutBodyIsDispatchedAndTheConnectionIsIdleAgain() {
        var state = makeState()
        #expect(state.phase == .idle)
        #expect(state.deadline == 75 * Self.second)
        #expect(state.received(10, at: Self.second) == .read)
        #expect(state.phase == .head)
        #expect(state.deadline == 11 * Self.second)
        #expect(state.received(10, at: 2 * Self.second) == .read)
        // The deadline counts from the first byte.
        #expect(state.deadline == 11 * Self.second)
        let action = state.headCompleted(
            wantsPersistence: true, hasBody: false, expectsContinue: false, isBodyHere: false, at: 3 * Self.second)
        #expect(action == .dispatch)
        #expect(state.phase == .responding)
        #expect(state.deadline == .max)
        #expect(state.responseBegan() == true)
        #expect(state.responseEnded(unsent: 200, at: 4 * Self.second) == .next)
        #expect(state.phase == .idle)
        #expect(state.deadline == 79 * Self.second)
    }

    @Test func aBodyIsReadUntilItIsComplete() {
        var state = makeState()
        _ = state.received(100, at: 0)
        let action = state.headCompleted(
            wantsPersistence: true, hasBody: true, expectsContinue: false, isBodyHere: false, at: 0)
        #expect(action == .read)
        #expect(state.phase == .body)
        #expect(state.received(5, at: 0) == .read)
        #expect(state.requestCompleted() == .dispatch)
        #expect(state.phase == .responding)
    }

    @Test func whoExpectsContinueGetsIt() {
        var state = makeState()
        _ = state.received(100, at: 0)
        let action = state.headCompleted(
            wantsPersistence: true, hasBody: true, expectsContinue: true, isBodyHere: false, at: 0)
        #expect(action == .sendContinue)
    }

    @Test func continueIsLeftOutWhenTheBodyHasBegun() {
        var state = makeState()
        _ = state.received(100, at: 0)
        let action = state.headCompleted(
            wantsPersistence: true, hasBody: true, expectsContinue: true, isBodyHere: true, at: 0)
        #expect(action == .read)
    }

    @Test func eachBodyByteAddsToTheTimeForTheBody() {
        var state = makeState()
        _ = state.received(100, at: 0)
        _ = state.headCompleted(
            wantsPersistence: true, hasBody: true, expectsContinue: false, isBodyHere: false, at: 0)
        #expect(state.deadline == 60 * Self.second)
        _ = state.received(16 * 1024, at: Self.second)
        let rounding: UInt64 = 100_000
        #expect(state.deadline > 61 * Self.second - rounding && state.deadline <= 61 * Self.second)
        #expect(state.deadlinePassed(sent: 0, at: 61 * Self.second) == .refuse(.bodyTimedOut))
    }

    @Test func aBodyNeverHasMoreTimeThanOneTimeLimit() {
        var state = makeState()
        _ = state.received(100, at: 0)
        _ = state.headCompleted(
            wantsPersistence: true, hasBody: true, expectsContinue: false, isBodyHere: false, at: 0)
        // 8 MiB at 16 KiB a second would buy 512 seconds.
        _ = state.received(8 * 1024 * 1024, at: 5 * Self.second)
        #expect(state.deadline == 65 * Self.second)
        #expect(state.deadlinePassed(sent: 0, at: 65 * Self.second) == .refuse(.bodyTimedOut))
    }

    @Test func bytesHeldDuringAResponseAreBounded() {
        var state = makeResponding()
        #expect(state.received(Timing.heldInput - 1, at: Self.second) == .hold)
        #expect(state.received(1, at: Self.second) == .hold)
        #expect(state.responseEnded(unsent: 1_000_000, at: Self.second) == .awaitDrain)
        #expect(state.received(1, at: Self.second) == .abort)
        #expect(state.phase == .closed)
    }

    @Test func eachResponseHasItsOwnBoundForBytesHeld() {
        var state = makeResponding()
        #expect(state.received(Timing.heldInput, at: Self.second) == .hold)
        #expect(state.responseEnded(unsent: 0, at: Self.second) == .next)
        _ = state.received(0, at: Self.second)
        _ = state.headCompleted(
            wantsPersistence: true, hasBody: false, expectsContinue: false, isBodyHere: false, at: Self.second)
        #expect(state.received(Timing.heldInput, at: Self.second) == .hold)
    }

    @Test func aHeadThatTakesTooLongIsRefused() {
        var state = makeState()
        _ = state.received(1, at: 0)
        #expect(state.deadlinePassed(sent: 0, at: 10 * Self.second - 1) == .none)
        #expect(state.deadlinePassed(sent: 0, at: 10 * Self.second) == .refuse(.headTimedOut))
        state.refused()
        #expect(state.responseBegan() == false)
        #expect(state.responseEnded(unsent: 200, at: 10 * Self.second) == .shutDown)
        #expect(state.phase == .ending)
    }

    @Test func anIdleConnectionEndsWithoutAWord() {
        var state = makeState()
        #expect(state.deadlinePassed(sent: 0, at: 75 * Self.second) == .shutDown)
        #expect(state.outputDrained(at: 75 * Self.second) == .none)
        #expect(state.phase == .lingering)
        #expect(state.inputEnded(at: 76 * Self.second) == .close)
        #expect(state.phase == .closed)
    }

    @Test func whoeverDoesNotCloseAfterTheLastResponseIsClosed() {
        var state = makeResponding(wantsPersistence: false)
        #expect(state.responseBegan() == false)
        #expect(state.responseEnded(unsent: 10, at: 2 * Self.second) == .shutDown)
        #expect(state.outputDrained(at: 3 * Self.second) == .none)
        #expect(state.received(1000, at: 3 * Self.second) == .discard)
        #expect(state.deadline == 5 * Self.second)
        #expect(state.deadlinePassed(sent: 10, at: 5 * Self.second) == .close)
    }

    @Test func anEndThatCannotBeSentIsCutOff() {
        var state = makeState()
        #expect(state.shutdownBegan(at: Self.second) == .shutDown)
        #expect(state.deadline == 31 * Self.second)
        #expect(state.deadlinePassed(sent: 0, at: 31 * Self.second) == .abort)
    }

    @Test func anEndBehindASlowReaderWaitsAsLongAsItReads() {
        var state = makeResponding(wantsPersistence: false)
        #expect(state.responseEnded(unsent: 10_000, at: Self.second) == .shutDown)
        state.outputBlocked(sent: 5000, at: Self.second)
        #expect(state.deadlinePassed(sent: 5001, at: 31 * Self.second) == .none)
        #expect(state.deadline == 61 * Self.second)
        #expect(state.deadlinePassed(sent: 5001, at: 61 * Self.second) == .abort)
    }

    @Test func whatIsThrownAwayIsLimited() {
        var limits = Limits()
        limits.lingeringBytes = 1000
        var state = ConnectionState(timing: Timing(limits), now: 0)
        _ = state.shutdownBegan(at: 0)
        _ = state.outputDrained(at: 0)
        #expect(state.received(1000, at: 0) == .discard)
        #expect(state.received(1, at: 0) == .close)
    }

    @Test func aClientThatEndedItsDirectionIsAnsweredBeforeTheEnd() {
        var state = makeResponding()
        #expect(state.inputEnded(at: Self.second) == .none)
        #expect(state.responseEnded(unsent: 10, at: 2 * Self.second) == .next)
        // The executor finds nothing more to read, and says so again.
        #expect(state.inputEnded(at: 2 * Self.second) == .shutDown)
        #expect(state.outputDrained(at: 2 * Self.second) == .close)
    }

    @Test func theEndInTheMidstOfARequestIsRefused() {
        var state = makeState()
        _ = state.received(10, at: 0)
        #expect(state.inputEnded(at: 0) == .refuse(.truncated))
    }

    @Test func bytesThatComeDuringAResponseAreKept() {
        var state = makeResponding()
        #expect(state.received(10, at: Self.second) == .hold)
    }

    @Test func aLargeResponseIsAwaitedBeforeTheNextRequest() {
        var state = makeResponding()
        #expect(state.responseEnded(unsent: 1_000_000, at: Self.second) == .awaitDrain)
        #expect(state.phase == .draining)
        state.outputBlocked(sent: 400_000, at: Self.second)
        #expect(state.deadline == 31 * Self.second)
        #expect(state.outputDrained(at: 20 * Self.second) == .next)
        #expect(state.phase == .idle)
        #expect(state.deadline == 95 * Self.second)
    }

    @Test func aReaderThatTakesSomethingIsWaitedFor() {
        var state = makeResponding()
        state.outputBlocked(sent: 400, at: Self.second)
        #expect(state.deadlinePassed(sent: 401, at: 31 * Self.second) == .none)
        #expect(state.deadline == 61 * Self.second)
        #expect(state.deadlinePassed(sent: 401, at: 61 * Self.second) == .abort)
        #expect(state.phase == .closed)
        #expect(state.deadline == .max)
    }

    @Test func silenceIsToldOnceForEachTimeOfSilence() {
        var state = makeResponding()
        state.setSilence(15 * Self.second, at: 2 * Self.second)
        #expect(state.deadline == 17 * Self.second)
        state.wrote(at: 10 * Self.second)
        #expect(state.deadlinePassed(sent: 0, at: 17 * Self.second) == .none)
        #expect(state.deadline == 25 * Self.second)
        #expect(state.deadlinePassed(sent: 0, at: 25 * Self.second) == .breakSilence)
        #expect(state.deadline == 40 * Self.second)
        state.outputBlocked(sent: 0, at: 26 * Self.second)
        // A client that takes nothing is not sent more.
        #expect(state.deadlinePassed(sent: 0, at: 40 * Self.second) == .none)
        #expect(state.deadline == 55 * Self.second)
        #expect(state.outputDrained(at: 41 * Self.second) == .none)
        #expect(state.responseEnded(unsent: 0, at: 42 * Self.second) == .next)
        #expect(state.deadline == 117 * Self.second)
    }

    @Test func shutdownEndsAnIdleConnectionAtOnce() {
        var state = makeState()
        #expect(state.shutdownBegan(at: Self.second) == .shutDown)
    }

    @Test func shutdownLetsAResponseBeCompleted() {
        var state = makeResponding()
        #expect(state.shutdownBegan(at: Self.second) == .none)
        #expect(state.responseBegan() == false)
        #expect(state.responseEnded(unsent: 0, at: 2 * Self.second) == .shutDown)
    }

    @Test func shutdownAfterTheHeadOfAResponseStillEndsTheConnection() {
        var state = makeResponding()
        #expect(state.responseBegan() == true)
        #expect(state.shutdownBegan(at: Self.second) == .none)
        #expect(state.responseEnded(unsent: 0, at: 2 * Self.second) == .shutDown)
    }

    @Test func aResponseWithoutFramingEndsTheConnection() {
        var state = makeResponding()
        state.endsWithResponse()
        #expect(state.responseBegan() == false)
        #expect(state.responseEnded(unsent: 0, at: 2 * Self.second) == .shutDown)
    }

    @Test func nothingComesAfterTheEnd() {
        var state = makeState()
        #expect(state.close() == .close)
        #expect(state.received(1, at: 0) == .discard)
        #expect(state.inputEnded(at: 0) == .none)
        #expect(state.outputDrained(at: 0) == .none)
        #expect(state.deadline == .max)
        #expect(state.deadlinePassed(sent: 0, at: 100 * Self.second) == .none)
        #expect(state.shutdownBegan(at: 0) == .none)
    }
}
