import ChatterdBasics
import ChatterdHTTP
import Testing

@testable import ChatterdHTTPServer

/// Transcripts with a manual clock.
@Suite(.timeLimit(.minutes(30))) struct ConnectionStateTests {
    private func makeState() -> ConnectionState {
        ConnectionState(timing: Timing(Limits()), now: .seconds(0))
    }

    /// A state in which a GET waits for its response, at one second.
    private func makeResponding(wantsPersistence: Bool = true) -> ConnectionState {
        var state = makeState()
        _ = state.received(100, at: .seconds(1))
        _ = state.headCompleted(
            wantsPersistence: wantsPersistence, hasBody: false, expectsContinue: false, isBodyHere: false,
            at: .seconds(1))
        return state
    }

    @Test func requestWithoutBodyIsDispatchedAndTheConnectionIsIdleAgain() {
        var state = makeState()
        #expect(state.phase == .idle)
        #expect(state.deadline == .seconds(75))
        #expect(state.received(10, at: .seconds(1)) == .read)
        #expect(state.phase == .head)
        #expect(state.deadline == .seconds(11))
        #expect(state.received(10, at: .seconds(2)) == .read)
        // The deadline counts from the first byte.
        #expect(state.deadline == .seconds(11))
        let action = state.headCompleted(
            wantsPersistence: true, hasBody: false, expectsContinue: false, isBodyHere: false, at: .seconds(3))
        #expect(action == .dispatch)
        #expect(state.phase == .responding)
        #expect(state.deadline == .distantFuture)
        #expect(state.responseBegan() == true)
        #expect(state.responseEnded(unsent: 200, at: .seconds(4)) == .next)
        #expect(state.phase == .idle)
        #expect(state.deadline == .seconds(79))
    }

    @Test func bodyIsReadUntilItIsComplete() {
        var state = makeState()
        _ = state.received(100, at: .seconds(0))
        let action = state.headCompleted(
            wantsPersistence: true, hasBody: true, expectsContinue: false, isBodyHere: false, at: .seconds(0))
        #expect(action == .read)
        #expect(state.phase == .body)
        #expect(state.received(5, at: .seconds(0)) == .read)
        #expect(state.requestCompleted() == .dispatch)
        #expect(state.phase == .responding)
    }

    @Test func expectContinueIsAnswered() {
        var state = makeState()
        _ = state.received(100, at: .seconds(0))
        let action = state.headCompleted(
            wantsPersistence: true, hasBody: true, expectsContinue: true, isBodyHere: false, at: .seconds(0))
        #expect(action == .sendContinue)
    }

    @Test func continueIsOmittedIfTheBodyHasBegun() {
        var state = makeState()
        _ = state.received(100, at: .seconds(0))
        let action = state.headCompleted(
            wantsPersistence: true, hasBody: true, expectsContinue: true, isBodyHere: true, at: .seconds(0))
        #expect(action == .read)
    }

    @Test func eachBodyByteAddsToTheTimeForTheBody() {
        var state = makeState()
        _ = state.received(100, at: .seconds(0))
        _ = state.headCompleted(
            wantsPersistence: true, hasBody: true, expectsContinue: false, isBodyHere: false, at: .seconds(0))
        #expect(state.deadline == .seconds(60))
        _ = state.received(16 * 1024, at: .seconds(1))
        #expect(state.deadline <= .seconds(61) && .seconds(61) - state.deadline < .microseconds(100))
        #expect(state.deadlinePassed(sent: 0, at: .seconds(61)) == .refuse(.bodyTimedOut))
    }

    @Test func bodyNeverHasMoreTimeThanOneTimeLimit() {
        var state = makeState()
        _ = state.received(100, at: .seconds(0))
        _ = state.headCompleted(
            wantsPersistence: true, hasBody: true, expectsContinue: false, isBodyHere: false, at: .seconds(0))
        // 8 MiB at 16 KiB a second would extend the deadline by 512 seconds.
        _ = state.received(8 * 1024 * 1024, at: .seconds(5))
        #expect(state.deadline == .seconds(65))
        #expect(state.deadlinePassed(sent: 0, at: .seconds(65)) == .refuse(.bodyTimedOut))
    }

    @Test func bytesHeldDuringAResponseAreBounded() {
        var state = makeResponding()
        #expect(state.received(Timing.heldInput - 1, at: .seconds(1)) == .hold)
        #expect(state.received(1, at: .seconds(1)) == .hold)
        #expect(state.responseEnded(unsent: 1_000_000, at: .seconds(1)) == .awaitDrain)
        #expect(state.received(1, at: .seconds(1)) == .abort)
        #expect(state.phase == .closed)
    }

    @Test func eachResponseHasItsOwnBoundForBytesHeld() {
        var state = makeResponding()
        #expect(state.received(Timing.heldInput, at: .seconds(1)) == .hold)
        #expect(state.responseEnded(unsent: 0, at: .seconds(1)) == .next)
        _ = state.received(0, at: .seconds(1))
        _ = state.headCompleted(
            wantsPersistence: true, hasBody: false, expectsContinue: false, isBodyHere: false, at: .seconds(1))
        #expect(state.received(Timing.heldInput, at: .seconds(1)) == .hold)
    }

    @Test func slowHeadIsRefused() {
        var state = makeState()
        _ = state.received(1, at: .seconds(0))
        #expect(state.deadlinePassed(sent: 0, at: Instant(nanoseconds: 9_999_999_999)) == .none)
        #expect(state.deadlinePassed(sent: 0, at: .seconds(10)) == .refuse(.headTimedOut))
        state.refused()
        #expect(state.responseBegan() == false)
        #expect(state.responseEnded(unsent: 200, at: .seconds(10)) == .shutDown)
        #expect(state.phase == .ending)
    }

    @Test func idleConnectionIsClosedSilently() {
        var state = makeState()
        #expect(state.deadlinePassed(sent: 0, at: .seconds(75)) == .shutDown)
        #expect(state.outputDrained(at: .seconds(75)) == .none)
        #expect(state.phase == .lingering)
        #expect(state.inputEnded(at: .seconds(76)) == .close)
        #expect(state.phase == .closed)
    }

    @Test func clientThatDoesNotCloseAfterTheLastResponseIsClosed() {
        var state = makeResponding(wantsPersistence: false)
        #expect(state.responseBegan() == false)
        #expect(state.responseEnded(unsent: 10, at: .seconds(2)) == .shutDown)
        #expect(state.outputDrained(at: .seconds(3)) == .none)
        #expect(state.received(1000, at: .seconds(3)) == .discard)
        #expect(state.deadline == .seconds(5))
        #expect(state.deadlinePassed(sent: 10, at: .seconds(5)) == .close)
    }

    @Test func endThatCannotBeSentIsCutOff() {
        var state = makeState()
        #expect(state.shutdownBegan(at: .seconds(1)) == .shutDown)
        #expect(state.deadline == .seconds(31))
        #expect(state.deadlinePassed(sent: 0, at: .seconds(31)) == .abort)
    }

    @Test func endAfterSlowOutputWaitsAsLongAsTheClientReads() {
        var state = makeResponding(wantsPersistence: false)
        #expect(state.responseEnded(unsent: 10_000, at: .seconds(1)) == .shutDown)
        state.outputBlocked(sent: 5000, at: .seconds(1))
        #expect(state.deadlinePassed(sent: 5001, at: .seconds(31)) == .none)
        #expect(state.deadline == .seconds(61))
        #expect(state.deadlinePassed(sent: 5001, at: .seconds(61)) == .abort)
    }

    @Test func discardedInputIsLimited() {
        var limits = Limits()
        limits.lingeringBytes = 1000
        var state = ConnectionState(timing: Timing(limits), now: .seconds(0))
        _ = state.shutdownBegan(at: .seconds(0))
        _ = state.outputDrained(at: .seconds(0))
        #expect(state.received(1000, at: .seconds(0)) == .discard)
        #expect(state.received(1, at: .seconds(0)) == .close)
    }

    @Test func halfClosedClientIsAnsweredBeforeTheEnd() {
        var state = makeResponding()
        #expect(state.inputEnded(at: .seconds(1)) == .none)
        #expect(state.responseEnded(unsent: 10, at: .seconds(2)) == .next)
        // The caller finds no more bytes, and reports the end again.
        #expect(state.inputEnded(at: .seconds(2)) == .shutDown)
        #expect(state.outputDrained(at: .seconds(2)) == .close)
    }

    @Test func endWithinARequestIsRefused() {
        var state = makeState()
        _ = state.received(10, at: .seconds(0))
        #expect(state.inputEnded(at: .seconds(0)) == .refuse(.truncated))
    }

    @Test func bytesThatComeDuringAResponseAreKept() {
        var state = makeResponding()
        #expect(state.received(10, at: .seconds(1)) == .hold)
    }

    @Test func largeResponseIsAwaitedBeforeTheNextRequest() {
        var state = makeResponding()
        #expect(state.responseEnded(unsent: 1_000_000, at: .seconds(1)) == .awaitDrain)
        #expect(state.phase == .draining)
        state.outputBlocked(sent: 400_000, at: .seconds(1))
        #expect(state.deadline == .seconds(31))
        #expect(state.outputDrained(at: .seconds(20)) == .next)
        #expect(state.phase == .idle)
        #expect(state.deadline == .seconds(95))
    }

    @Test func slowReaderIsAwaited() {
        var state = makeResponding()
        state.outputBlocked(sent: 400, at: .seconds(1))
        #expect(state.deadlinePassed(sent: 401, at: .seconds(31)) == .none)
        #expect(state.deadline == .seconds(61))
        #expect(state.deadlinePassed(sent: 401, at: .seconds(61)) == .abort)
        #expect(state.phase == .closed)
        #expect(state.deadline == .distantFuture)
    }

    @Test func silenceIsReportedOncePerPeriod() {
        var state = makeResponding()
        state.setSilence(.seconds(15), at: .seconds(2))
        #expect(state.deadline == .seconds(17))
        state.wrote(at: .seconds(10))
        #expect(state.deadlinePassed(sent: 0, at: .seconds(17)) == .none)
        #expect(state.deadline == .seconds(25))
        #expect(state.deadlinePassed(sent: 0, at: .seconds(25)) == .breakSilence)
        #expect(state.deadline == .seconds(40))
        state.outputBlocked(sent: 0, at: .seconds(26))
        // A client that does not read gets no keep-alive.
        #expect(state.deadlinePassed(sent: 0, at: .seconds(40)) == .none)
        #expect(state.deadline == .seconds(55))
        #expect(state.outputDrained(at: .seconds(41)) == .none)
        #expect(state.responseEnded(unsent: 0, at: .seconds(42)) == .next)
        #expect(state.deadline == .seconds(117))
    }

    @Test func shutdownEndsAnIdleConnectionAtOnce() {
        var state = makeState()
        #expect(state.shutdownBegan(at: .seconds(1)) == .shutDown)
    }

    @Test func shutdownLetsAResponseBeCompleted() {
        var state = makeResponding()
        #expect(state.shutdownBegan(at: .seconds(1)) == .none)
        #expect(state.responseBegan() == false)
        #expect(state.responseEnded(unsent: 0, at: .seconds(2)) == .shutDown)
    }

    @Test func shutdownAfterTheHeadOfAResponseStillEndsTheConnection() {
        var state = makeResponding()
        #expect(state.responseBegan() == true)
        #expect(state.shutdownBegan(at: .seconds(1)) == .none)
        #expect(state.responseEnded(unsent: 0, at: .seconds(2)) == .shutDown)
    }

    @Test func responseWithoutFramingEndsTheConnection() {
        var state = makeResponding()
        state.endsWithResponse()
        #expect(state.responseBegan() == false)
        #expect(state.responseEnded(unsent: 0, at: .seconds(2)) == .shutDown)
    }

    @Test func noActionFollowsTheEnd() {
        var state = makeState()
        #expect(state.close() == .close)
        #expect(state.received(1, at: .seconds(0)) == .discard)
        #expect(state.inputEnded(at: .seconds(0)) == .none)
        #expect(state.outputDrained(at: .seconds(0)) == .none)
        #expect(state.deadline == .distantFuture)
        #expect(state.deadlinePassed(sent: 0, at: .seconds(100)) == .none)
        #expect(state.shutdownBegan(at: .seconds(0)) == .none)
    }
}

extension Instant {
    /// The instant the given number of seconds after the start of the clock.
    fileprivate static func seconds(_ count: UInt64) -> Instant { Instant(nanoseconds: count * 1_000_000_000) }
}
