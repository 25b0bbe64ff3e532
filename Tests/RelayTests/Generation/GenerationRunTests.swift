import ChatterdChat
import Testing

@testable import ChatterdRelay

/// The life of a reply with its model servers, as transcripts without I/O.
@Suite(.timeLimit(.minutes(30))) struct GenerationRunTests {
    private let plain = FailoverPlan.Candidate()
    private let continuing = FailoverPlan.Candidate(canContinue: true)
    private let half = "This is half of an answer that is long enough, and "

    /// A prompt whose length may be the cause of a failure.
    private var longPrompt: PromptReport {
        var report = PromptReport()
        report.estimatedTokens = 10_000
        return report
    }

    // MARK: - One server

    @Test func answerIsAppendedUntilItIsComplete() {
        var run = ScriptedRun(plain)
        #expect(run.transcript() == "fit 0, send, wait")
        run.send("Hello ")
        run.send("world")
        run.complete()
        #expect(run.transcript() == "answered, complete")
        #expect(run.text == "Hello world")
    }

    @Test func answerWithoutItsLastLineIsAnInternalError() {
        var run = ScriptedRun(plain)
        run.end()
        #expect(run.transcript() == "fit 0, send, wait, answered, fail internal")
    }

    @Test func replyWithoutServersFails() {
        var run = ScriptedRun()
        #expect(run.transcript() == "no server")
    }

    @Test func removedServerIsNotAsked() {
        var run = ScriptedRun(plain) { $0.answers["fit"] = [.removed, .removed] }
        #expect(run.transcript() == "fit 0, pause 250.0 ms, fit 0, pause 500.0 ms, fit 0, send, wait")
        var gone = ScriptedRun(FailoverPlan.Candidate(isRemoved: true))
        #expect(gone.transcript() == "no server")
    }

    @Test func changedServerIsFittedAgain() {
        var run = ScriptedRun(plain) { $0.answers["slot"] = [.changed] }
        #expect(run.transcript() == "fit 0, fit 0, send, wait")
    }

    // MARK: - Failures

    @Test func failedServerIsFollowedByTheNext() {
        var run = ScriptedRun(plain, plain)
        run.fail(.failed)
        #expect(run.transcript() == "fit 0, send, wait, failed failed, fit 1, send, wait")
        run.send("Hello")
        run.complete()
        #expect(run.transcript() == "answered, complete")
    }

    @Test func serverThatMayRestartIsAwaited() {
        var run = ScriptedRun(plain)
        run.fail(.unavailable, .restart(wasRead: false))
        #expect(
            run.transcript()
                == "fit 0, send, wait, failed unavailable, pause 250.0 ms, for restart, fit 0, send, wait")
    }

    @Test func errorOfTwoServersAboutTheRequestRejectsIt() {
        var run = ScriptedRun(plain, plain)
        run.fail(.failed, .request("400 bad"), "bad")
        run.fail(.failed, .request("400 bad"), "bad")
        #expect(
            run.transcript()
                == "fit 0, send, wait, suspect failed, fit 1, send, wait, suspect failed, fail upstream_rejected")
    }

    @Test func errorOfOneServerAboutTheRequestBlamesTheServerInTheEnd() {
        var run = ScriptedRun(plain)
        for _ in 0..<5 { run.fail(.failed, .request("400 bad"), "bad") }
        #expect(run.transcript().hasSuffix("suspect failed, fail upstream_error, blame servers"))
    }

    // MARK: - Prompts that are too long

    @Test func refusedPromptIsSentTwiceWithLess() {
        var run = ScriptedRun(plain)
        run.fail(.contextTooLong)
        run.fail(.contextTooLong)
        run.fail(.contextTooLong)
        #expect(
            run.transcript()
                == "fit 0, send, wait, answered, learn contextTooLong, fit 0, send, wait, "
                + "answered, learn contextTooLong, fit 0, send, wait, answered, list contexts, fail context_too_long, "
                + "blame servers")
    }

    @Test(arguments: [ModelError.Code.failed, .busy, .contextTooLong, .silenceTimeout])
    func failureOnDemandEndsTheReplyWithoutAVerdict(code: ModelError.Code) {
        var run = ScriptedRun(FailoverPlan.Candidate(), FailoverPlan.Candidate(canContinue: true))
        _ = run.transcript()
        run.send("A beginning that is long enough to be continued by another server.")
        run.fail(code, .onDemand)
        let end = RelayError(ModelError(code, "")).code.rawValue
        let transcript = run.transcript()
        #expect(transcript.hasPrefix("answered, ") && transcript.hasSuffix(", fail \(end), blame servers"))
        #expect(!transcript.contains("send") && !transcript.contains("learn"))
    }

    @Test func failureOfALongPromptLeadsToAShorterOneOnce() {
        var run = ScriptedRun(plain) { $0.report = longPrompt }
        run.fail(.failed, .context)
        #expect(run.transcript() == "fit 0, send, wait, failed failed, fit 0, send, wait")
        run.send("Hello")
        run.complete()
        #expect(run.transcript() == "answered, complete, too long before")
    }

    @Test func promptThatFitsNowhereIsNotSent() {
        var run = ScriptedRun(plain) { $0.answers["fit"] = [.tooLong(ModelError(.contextTooLong, "long"))] }
        #expect(run.transcript() == "fit 0, list contexts, fail context_too_long, blame servers")
    }

    // MARK: - Answers that break off

    @Test func nextServerContinuesTheText() {
        var run = ScriptedRun(continuing, continuing)
        run.send(half)
        run.fail(.incomplete)
        #expect(run.transcript() == "fit 0, send, wait, failed incomplete, read, fit 1, send, wait")
        run.send("the rest.")
        run.complete()
        #expect(run.transcript() == "append \"the rest.\", answered, complete")
        #expect(run.text == half + "the rest.")
    }

    @Test func serverThatRepeatsTheTextIsCancelledAndStartsAgain() {
        var run = ScriptedRun(plain, continuing)
        run.send(half)
        run.fail(.incomplete)
        _ = run.transcript()
        run.send(half)
        #expect(run.transcript() == "cancel, unknown, fit 1, send, wait")
        run.send("Another answer")
        #expect(run.transcript() == "proceed, restart, wait")
        run.complete()
        #expect(run.transcript() == "answered, complete")
        #expect(run.text == "Another answer")
    }

    @Test func answerThatCannotBeContinuedStartsAgainWithTheFirstLine() {
        var run = ScriptedRun(plain, plain)
        run.send(half)
        run.fail(.incomplete)
        run.send("Another ")
        #expect(
            run.transcript()
                == "fit 0, send, wait, failed incomplete, fit 1, send, wait, proceed, restart, wait")
        run.send("one")
        run.complete()
        #expect(run.text == "Another one")
    }

    @Test func restartThatTheStoreRefusesKeepsTheTextAndItsError() {
        let unavailable = RelayError(.storeUnavailable, "The database cannot be reached.")
        var run = ScriptedRun(plain, plain) { $0.answers["restart"] = [.failed(unavailable)] }
        run.send(half)
        run.fail(.incomplete)
        _ = run.transcript()
        run.send("Another ")
        #expect(run.transcript() == "proceed, restart, abandon, fail upstream_incomplete")
        #expect(run.text == half)
    }

    @Test func emptyRestartDoesNotReplaceTheText() {
        var run = ScriptedRun(plain, plain)
        run.send(half)
        run.fail(.incomplete)
        _ = run.transcript()
        run.send("")
        #expect(run.transcript() == "hold")
        #expect(run.text == half)
    }

    // MARK: - Answers with a form

    private let number = #"{"type":"number"}"#

    @Test func answerWithItsFormIsComplete() {
        var run = ScriptedRun(plain, schema: number)
        run.send("1")
        run.complete()
        #expect(run.transcript() == "fit 0, send, wait, answered, fits, complete")
    }

    @Test func firstViolationIsRepairedByTheSameServer() {
        var run = ScriptedRun(plain, plain, schema: number)
        run.send("true")
        run.complete()
        #expect(run.transcript() == "fit 0, send, wait, answered, violates type, fit 0, send, wait")
        #expect(run.text == "true")
        run.send("2")
        #expect(run.transcript() == "proceed, restart, wait")
        run.complete()
        #expect(run.transcript() == "answered, fits, complete")
        #expect(run.text == "2")
    }

    /// A run whose answer is complete without its form, and whose server is asked for the repair.
    private func runInRepair(configure: (inout ScriptedRun) -> Void = { _ in }) -> ScriptedRun {
        var run = ScriptedRun(plain, schema: number, configure: configure)
        run.send("true")
        run.complete()
        _ = run.transcript()
        return run
    }

    @Test func secondViolationEndsTheReplyWithItsText() {
        var run = runInRepair()
        run.send("false")
        _ = run.transcript()
        run.complete()
        #expect(run.transcript() == "answered, violates type, fail answer_violates_format")
        #expect(run.text == "false")
    }

    @Test func repairThatFailsKeepsTheAnswerAndItsViolation() {
        var run = runInRepair()
        run.fail(.rejected)
        #expect(run.transcript() == "answered, fail answer_violates_format, blame servers")
        #expect(run.text == "true")
    }

    @Test func repairByAnotherServerDoesNotContinueTheAnswer() {
        // A continuation would join the answer with a second one.
        for code in [ModelError.Code.busy, .failed] {
            var run = ScriptedRun(continuing, continuing, schema: number)
            run.send(half)
            run.complete()
            _ = run.transcript()
            run.fail(code)
            #expect(run.transcript().hasSuffix("fit 1, send, wait"))
            run.send("2")
            #expect(run.transcript() == "proceed, restart, wait")
            run.complete()
            #expect(run.transcript() == "answered, fits, complete")
            #expect(run.text == "2")
        }
    }

    @Test func repairThatBreaksOffIsContinued() {
        var run = ScriptedRun(continuing, continuing, schema: #"{"type":"null"}"#)
        run.send("true")
        run.complete()
        run.send(half)
        _ = run.transcript()
        run.fail(.failed)
        #expect(run.transcript().contains("read, fit 1"))
    }

    @Test func repairThatBreaksOffIsAFailureOfTheServer() {
        var run = ScriptedRun(plain, schema: #"{"type":"object"}"#)
        run.send("true")
        run.complete()
        run.send("{")
        run.fail(.totalTimeout)
        #expect(run.transcript().hasSuffix("fail upstream_total_timeout, blame servers"))
        #expect(run.text == "{")
    }

    @Test func emptyAnswerIsRepairedWithoutARestart() {
        var run = ScriptedRun(plain, schema: number)
        run.complete()
        #expect(run.transcript() == "fit 0, send, wait, answered, violates , fit 0, send, wait")
        run.send("3")
        run.complete()
        #expect(run.transcript() == "answered, fits, complete")
        #expect(run.text == "3")
    }

    @Test func restartForARepairThatTheStoreRefusesKeepsTheViolation() {
        let unavailable = RelayError(.storeUnavailable, "The database cannot be reached.")
        var run = runInRepair { $0.answers["restart"] = [.failed(unavailable)] }
        run.send("2")
        #expect(run.transcript() == "proceed, restart, abandon, fail answer_violates_format")
        #expect(run.text == "true")
    }

    @Test func cancelledReplyIsNotRepaired() {
        var run = runInRepair()
        run.cancel(.stopped)
        #expect(run.transcript() == "unknown, fail cancelled")
    }

    // MARK: - Thoughts

    @Test func modelThatCannotThinkIsAskedOnceMoreWithoutThoughts() {
        var run = ScriptedRun(plain, isThinkingOptional: true)
        run.fail(.rejected, .thinking)
        #expect(run.transcript() == "fit 0, send, wait, answered, fit 0, send, wait")
        run.send("Hello")
        run.complete()
        #expect(run.transcript().hasSuffix("complete"))
        #expect(run.text == "Hello")
    }

    @Test func modelThatRefusesWithoutThoughtsTooEndsTheRun() {
        var run = ScriptedRun(plain, isThinkingOptional: true)
        run.fail(.rejected, .thinking)
        _ = run.transcript()
        run.fail(.rejected, .thinking)
        #expect(run.transcript() == "answered, fail upstream_rejected, blame servers")
    }

    @Test func nextServerIsAskedForThoughtsAgain() {
        var run = ScriptedRun(plain, plain, isThinkingOptional: true)
        run.fail(.rejected, .thinking)
        run.fail(.unavailable)
        #expect(run.transcript().contains("fit 1, send"))
        run.fail(.rejected, .thinking)
        #expect(run.transcript() == "answered, fit 1, send, wait")
    }

    @Test func requestThatNeedsThoughtsIsNotSentWithoutThem() {
        var run = ScriptedRun(plain)
        run.fail(.rejected, .thinking)
        #expect(run.transcript() == "fit 0, send, wait, answered, fail upstream_rejected, blame servers")
    }

    // MARK: - Cancellation

    @Test func cancellationEndsTheRequestWithItsReason() {
        var run = ScriptedRun(plain)
        run.send("Hello")
        run.cancel(.stopped)
        #expect(run.transcript() == "fit 0, send, wait, unknown, fail cancelled")
    }

    @Test func firstReasonOfACancellationCounts() {
        var run = GenerationRun(RelayLimits())
        run.cancel(.stopped)
        run.cancel(ChatService.ending)
        #expect(run.cancellation == .stopped)
    }

    @Test func errorBeforeTheRequestEndsTheRun() {
        let gone = RelayError(.conversationReplaced, "The conversation was replaced.")
        var run = ScriptedRun(plain) { $0.answers["slot"] = [.failed(gone)] }
        #expect(run.transcript() == "fit 0, fail conversation_replaced")
    }
}
