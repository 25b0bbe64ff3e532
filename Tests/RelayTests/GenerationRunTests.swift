import ChatterdLanguageModels
import Testing

@testable import ChatterdRelay

/// The life of a reply with its model servers, as transcripts without I/O.
@Suite(.timeLimit(.minutes(30))) struct GenerationRunTests {
    private let plain = FailoverPlan.Candidate()
    private let continuing = FailoverPlan.Candidate(canContinue: true)
    private let half = "This is half of an answer that is long enough, and "

    /// A prompt whose length may be the cause of a failure.
    private var longPrompt: ReplyReceipt {
        var report = ReplyReceipt()
        report.estimatedTokens = 10_000
        return report
    }

    // MARK: - One server

    @Test func answerIsAppendedUntilItIsComplete() {
        var course = GenerationCourse(plain)
        #expect(course.transcript() == "fit 0, send, wait")
        course.say("Hello ")
        course.say("world")
        course.complete()
        #expect(course.transcript() == "answered, complete")
        #expect(course.text == "Hello world")
    }

    @Test func answerWithoutItsLastLineIsAnInternalError() {
        var course = GenerationCourse(plain)
        course.end()
        #expect(course.transcript() == "fit 0, send, wait, answered, fail internal")
    }

    @Test func replyWithoutServersFails() {
        var course = GenerationCourse()
        #expect(course.transcript() == "no server")
    }

    @Test func removedServerIsNotAsked() {
        var course = GenerationCourse(plain) { $0.answers["fit"] = [.removed, .removed] }
        #expect(course.transcript() == "fit 0, pause 250.0 ms, fit 0, pause 500.0 ms, fit 0, send, wait")
        var gone = GenerationCourse(FailoverPlan.Candidate(isRemoved: true))
        #expect(gone.transcript() == "no server")
    }

    @Test func changedServerIsFittedAgain() {
        var course = GenerationCourse(plain) { $0.answers["slot"] = [.changed] }
        #expect(course.transcript() == "fit 0, fit 0, send, wait")
    }

    // MARK: - Failures

    @Test func failedServerIsFollowedByTheNext() {
        var course = GenerationCourse(plain, plain)
        course.fail(.failed)
        #expect(course.transcript() == "fit 0, send, wait, failed failed, fit 1, send, wait")
        course.say("Hello")
        course.complete()
        #expect(course.transcript() == "answered, complete")
    }

    @Test func serverThatMayRestartIsAwaited() {
        var course = GenerationCourse(plain)
        course.fail(.unavailable, .restart(wasRead: false))
        #expect(
            course.transcript()
                == "fit 0, send, wait, failed unavailable, pause 250.0 ms, for restart, fit 0, send, wait")
    }

    @Test func errorOfTwoServersAboutTheRequestRejectsIt() {
        var course = GenerationCourse(plain, plain)
        course.fail(.failed, .request("400 bad"), "bad")
        course.fail(.failed, .request("400 bad"), "bad")
        #expect(
            course.transcript()
                == "fit 0, send, wait, suspect failed, fit 1, send, wait, suspect failed, fail upstream_rejected")
    }

    @Test func errorOfOneServerAboutTheRequestBlamesTheServerInTheEnd() {
        var course = GenerationCourse(plain)
        for _ in 0..<5 { course.fail(.failed, .request("400 bad"), "bad") }
        #expect(course.transcript().hasSuffix("suspect failed, fail upstream_error, blame servers"))
    }

    // MARK: - Prompts that are too long

    @Test func refusedPromptIsSentTwiceWithLess() {
        var course = GenerationCourse(plain)
        course.fail(.contextTooLong)
        course.fail(.contextTooLong)
        course.fail(.contextTooLong)
        #expect(
            course.transcript()
                == "fit 0, send, wait, answered, learn contextTooLong, fit 0, send, wait, "
                + "answered, learn contextTooLong, fit 0, send, wait, answered, list contexts, fail context_too_long, "
                + "blame servers")
    }

    @Test func failureOfALongPromptLeadsToAShorterOneOnce() {
        var course = GenerationCourse(plain) { $0.report = longPrompt }
        course.fail(.failed, .context)
        #expect(course.transcript() == "fit 0, send, wait, failed failed, fit 0, send, wait")
        course.say("Hello")
        course.complete()
        #expect(course.transcript() == "answered, complete, too long before")
    }

    @Test func promptThatFitsNowhereIsNotSent() {
        var course = GenerationCourse(plain) { $0.answers["fit"] = [.tooLong(ModelError(.contextTooLong, "long"))] }
        #expect(course.transcript() == "fit 0, list contexts, fail context_too_long, blame servers")
    }

    // MARK: - Answers that break off

    @Test func nextServerContinuesTheText() {
        var course = GenerationCourse(continuing, continuing)
        course.say(half)
        course.fail(.incomplete)
        #expect(course.transcript() == "fit 0, send, wait, failed incomplete, read, fit 1, send, wait")
        course.say("the rest.")
        course.complete()
        #expect(course.transcript() == "append \"the rest.\", answered, complete")
        #expect(course.text == half + "the rest.")
    }

    @Test func serverThatRepeatsTheTextIsCancelledAndStartsAgain() {
        var course = GenerationCourse(plain, continuing)
        course.say(half)
        course.fail(.incomplete)
        _ = course.transcript()
        course.say(half)
        #expect(course.transcript() == "cancel, unknown, fit 1, send, wait")
        course.say("Another answer")
        #expect(course.transcript() == "proceed, restart, wait")
        course.complete()
        #expect(course.transcript() == "answered, complete")
        #expect(course.text == "Another answer")
    }

    @Test func answerThatCannotBeContinuedStartsAgainWithTheFirstLine() {
        var course = GenerationCourse(plain, plain)
        course.say(half)
        course.fail(.incomplete)
        course.say("Another ")
        #expect(
            course.transcript()
                == "fit 0, send, wait, failed incomplete, fit 1, send, wait, proceed, restart, wait")
        course.say("one")
        course.complete()
        #expect(course.text == "Another one")
    }

    @Test func restartThatTheStoreRefusesKeepsTheTextAndItsError() {
        let unavailable = RelayError(.storeUnavailable, "The database cannot be reached.")
        var course = GenerationCourse(plain, plain) { $0.answers["restart"] = [.failed(unavailable)] }
        course.say(half)
        course.fail(.incomplete)
        _ = course.transcript()
        course.say("Another ")
        #expect(course.transcript() == "proceed, restart, abandon, fail upstream_incomplete")
        #expect(course.text == half)
    }

    @Test func emptyRestartDoesNotReplaceTheText() {
        var course = GenerationCourse(plain, plain)
        course.say(half)
        course.fail(.incomplete)
        _ = course.transcript()
        course.say("")
        #expect(course.transcript() == "hold")
        #expect(course.text == half)
    }

    // MARK: - Cancellation

    @Test func cancellationEndsTheRequestWithItsReason() {
        var course = GenerationCourse(plain)
        course.say("Hello")
        course.cancel(.stopped)
        #expect(course.transcript() == "fit 0, send, wait, unknown, fail cancelled")
    }

    @Test func firstReasonOfACancellationCounts() {
        var run = GenerationRun(RelayLimits())
        run.cancel(.stopped)
        run.cancel(ChatService.ending)
        #expect(run.cancellation == .stopped)
    }

    @Test func errorBeforeTheRequestEndsTheRun() {
        let gone = RelayError(.conversationReplaced, "The conversation was replaced.")
        var course = GenerationCourse(plain) { $0.answers["slot"] = [.failed(gone)] }
        #expect(course.transcript() == "fit 0, fail conversation_replaced")
    }
}
