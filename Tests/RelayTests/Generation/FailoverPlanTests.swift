import ChatterdBasics
import ChatterdChat
import Testing

@testable import ChatterdRelay

/// The server that is asked after each failure, as transcripts.
@Suite(.timeLimit(.minutes(30))) struct FailoverPlanTests {
    /// A plan with its servers: the methods report failures and return the next step.
    private struct Course {
        private var plan: FailoverPlan
        var servers: [FailoverPlan.Candidate]
        private var now = Instant(nanoseconds: 0)
        private var asked: Int?
        var progress = FailoverPlan.Progress.none

        init(_ servers: FailoverPlan.Candidate..., failovers: Int = 4, rescues: Int = 2, wait: Duration = .zero) {
            var limits = RelayLimits()
            limits.failoverAttempts = failovers
            limits.rescueAttempts = rescues
            limits.restartWait = wait
            plan = FailoverPlan(limits)
            self.servers = servers
            _ = describe(plan.begin(servers))
        }

        /// The asked server fails; returns the next step, whose pause passes.
        mutating func fail(_ code: ModelError.Code, _ hint: ModelError.Hint? = nil, _ words: String = "") -> String {
            var error = ModelError(code, words)
            error.hint = hint
            return describe(plan.failed(error, by: asked ?? 0, after: progress, at: now, servers))
        }

        /// The server that was asked to continue cannot.
        mutating func cannotContinue() -> String {
            describe(plan.couldNotContinue(asked ?? 0, after: progress, at: now, servers))
        }

        mutating func pass(_ duration: Duration) {
            now = now + duration
        }

        private mutating func describe(_ step: FailoverPlan.Step) -> String {
            switch step {
            case .fail: return "fail"
            case .reject: return "reject"
            case .ask(let number, let pause, let continues):
                asked = number
                pass(pause)
                let after = pause > .zero ? " after \(pause / .milliseconds(1)) ms" : ""
                return "\(number)\(continues ? " continues" : "")\(after)\(plan.isWaiting ? ", waiting" : "")"
            }
        }
    }

    private let prefill = FailoverPlan.Candidate(canContinue: true)
    private let plain = FailoverPlan.Candidate()
    private let refused = ModelError.Hint.restart(wasRead: false)
    private let closed = ModelError.Hint.restart(wasRead: true)

    // MARK: - Failures on demand

    @Test(arguments: ModelError.Code.allCases) func failureOnDemandEndsTheReply(code: ModelError.Code) {
        for progress in [FailoverPlan.Progress.none, .text, .other] {
            var course = Course(prefill, plain, wait: .seconds(30))
            course.progress = progress
            #expect(course.fail(code, .onDemand) == "fail")
        }
    }

    // MARK: - Stalls

    @Test(arguments: [ModelError.Code.silenceTimeout, .firstByteTimeout, .connectTimeout])
    func stalledServerComesAfterServersThatStartAgain(code: ModelError.Code) {
        var course = Course(prefill, plain)
        course.progress = .text
        #expect(course.fail(code) == "1")
        // The server stays behind the other one, even if that one has failed more often.
        #expect(course.fail(.failed) == "1 after 250.0 ms")
        #expect(course.fail(.failed) == "fail")
    }

    @Test func stalledLoneServerContinues() {
        var course = Course(prefill)
        course.progress = .text
        #expect(course.fail(.silenceTimeout) == "0 continues after 250.0 ms")
        #expect(course.fail(.firstByteTimeout) == "fail")
    }

    @Test func continuingServerComesBeforeOneThatStartsAgain() {
        var course = Course(prefill, plain, prefill)
        course.progress = .text
        #expect(course.fail(.silenceTimeout) == "2 continues")
        #expect(course.fail(.failed) == "2 continues after 250.0 ms")
    }

    // MARK: - Servers that cannot continue

    @Test func serverThatCannotContinueStartsAgain() {
        var course = Course(prefill, prefill)
        course.progress = .text
        #expect(course.fail(.silenceTimeout) == "1 continues")
        #expect(course.cannotContinue() == "1")
    }

    @Test func serverThatCannotContinueCostsNoAttempt() {
        var course = Course(prefill, prefill, rescues: 1)
        course.progress = .text
        course.servers[0].isCoolingDown = true
        #expect(course.fail(.incomplete) == "1 continues")
        #expect(course.cannotContinue() == "1")
        #expect(course.fail(.failed) == "fail")
    }

    @Test func answerStartsAgainWhenNoServerCanContinue() {
        var course = Course(prefill, prefill)
        course.progress = .text
        #expect(course.fail(.incomplete) == "1 continues")
        #expect(course.cannotContinue() == "0 continues after 250.0 ms")
        #expect(course.cannotContinue() == "1")
    }

    // MARK: - Bad requests

    @Test func sameComplaintOfTwoServersRejectsTheRequest() {
        var course = Course(plain, plain)
        #expect(course.fail(.failed, .request("500 no")) == "1")
        #expect(course.fail(.failed, .request("500 no")) == "reject")
    }

    @Test func oneOfSeveralServersDoesNotConfirmItsOwnComplaint() {
        var course = Course(plain, plain)
        #expect(course.fail(.failed, .request("500 no")) == "1")
        #expect(course.fail(.failed) == "0 after 250.0 ms")
        #expect(course.fail(.failed, .request("500 no")) == "1 after 500.0 ms")
        #expect(course.fail(.failed, .request("500 no")) == "reject")
    }

    @Test func loneServerDoesNotConfirmItsOwnComplaint() {
        var course = Course(plain)
        #expect(course.fail(.failed, .request("500 no")) == "0 after 250.0 ms")
        #expect(course.fail(.failed, .request("500 never")) == "0 after 500.0 ms")
        #expect(course.fail(.failed, .request("500 no")) == "0 after 1000.0 ms")
    }

    @Test func complaintInTheMiddleOfAnAnswerDoesNotRejectTheRequest() {
        var course = Course(plain, plain)
        course.progress = .text
        #expect(course.fail(.failed, .request("500 no")) == "1")
        #expect(course.fail(.failed, .request("500 no")) == "0 after 250.0 ms")
    }

    @Test func answerThatBreaksOffTwiceForLackOfContextFails() {
        var course = Course(plain)
        course.progress = .text
        #expect(course.fail(.failed, .context, "full") == "0 after 250.0 ms")
        #expect(course.fail(.failed, .context, "full") == "fail")
    }

    // MARK: - Restarts

    @Test func waitForALoneServerCostsNoAttempts() {
        var course = Course(plain, failovers: 0, wait: .seconds(10))
        var steps = (1...6).map { _ in course.fail(.unavailable, refused) }
        #expect(
            steps == [250, 500, 1000, 2000, 4000, 2250].map { "0 after \(Double($0)) ms, waiting" })
        steps = [course.fail(.unavailable, refused)]
        #expect(steps == ["fail"])
    }

    @Test func otherServersComeFirst() {
        var course = Course(plain, plain, wait: .seconds(1))
        #expect(course.fail(.unavailable, refused) == "1")
        #expect(course.fail(.unavailable, refused) == "0 after 250.0 ms, waiting")
        #expect(course.fail(.unavailable, refused) == "1 after 500.0 ms, waiting")
        #expect(course.fail(.unavailable, refused) == "0 after 250.0 ms, waiting")
        #expect(course.fail(.unavailable, refused) == "fail")
    }

    @Test func returningServerContinuesTheText() {
        var course = Course(prefill, wait: .seconds(30))
        course.progress = .text
        #expect(course.fail(.incomplete) == "0 continues after 250.0 ms")
        course.servers[0].isCoolingDown = true
        for pause in [250, 500, 1000] {
            #expect(course.fail(.unavailable, refused) == "0 continues after \(Double(pause)) ms, waiting")
        }
        // The answer broke off again, which costs the second attempt; the next wait is a new one.
        #expect(course.fail(.incomplete) == "0 continues after 500.0 ms")
        #expect(course.fail(.unavailable, refused) == "0 continues after 250.0 ms, waiting")
        #expect(course.fail(.incomplete) == "fail")
    }

    @Test func serverThatStartsAgainComesBeforeOneThatIsRestarting() {
        var course = Course(prefill, plain, wait: .seconds(30))
        course.progress = .text
        #expect(course.fail(.incomplete) == "0 continues after 250.0 ms")
        #expect(course.fail(.unavailable, refused) == "1")
    }

    @Test func requestThatMayHaveBeenReadCostsAnAttempt() {
        var course = Course(plain, failovers: 2, wait: .seconds(30))
        #expect(course.fail(.unavailable, closed) == "0 after 250.0 ms, waiting")
        #expect(course.fail(.unavailable, refused) == "0 after 500.0 ms, waiting")
        #expect(course.fail(.unavailable, closed) == "0 after 1000.0 ms, waiting")
        #expect(course.fail(.unavailable, closed) == "fail")
    }

    @Test func refusalsCostAttemptsWithoutAWait() {
        var course = Course(plain, failovers: 1)
        #expect(course.fail(.unavailable, refused) == "0 after 250.0 ms")
        #expect(course.fail(.unavailable, refused) == "fail")
    }

    @Test func failedAnswerEndsTheWait() {
        var course = Course(plain, plain, wait: .milliseconds(100))
        #expect(course.fail(.unavailable, refused) == "1")
        course.pass(.seconds(1))
        #expect(course.fail(.failed) == "0 after 250.0 ms")
        #expect(course.fail(.unavailable, refused) == "1 after 500.0 ms")
        #expect(course.fail(.failed) == "0 after 1000.0 ms")
    }
}
