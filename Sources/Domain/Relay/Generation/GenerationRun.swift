import ChatterdBasics
import ChatterdChat

/// The life of one reply with its model servers, as a value: it receives events and returns the next action.
///
/// It chooses a server (`FailoverPlan`), sends the prompt, and shortens the prompt if the server finds it too long. An answer that
/// breaks off is continued by another server (`ContinuationSeam`) or starts again. `ReplyGenerator` performs the actions; the run
/// itself has no I/O, so that tests can write down its whole course. `GenerationRun+Events.swift` lists the events and the actions.
struct GenerationRun {
    private enum State {
        case ready
        // The cases with errors are in boxes, because the errors are large and rare.
        indirect case choosing(Reason)
        case backingOff
        case readingText
        case fitting
        case acquiringSlot
        case generating
        case restarting
        case judging(End)
        case reviewing
        case runningTools
        case checking
        indirect case learning(ModelError)
        indirect case abandoning(RelayError)
        case ended
    }

    /// The reason for the choice of a server.
    private enum Reason {
        case start
        case failure(ModelError)
        case removal
    }

    /// The end of a request.
    private enum End {
        case complete
        case cancelled
        indirect case failed(ModelError)
    }

    /// The treatment of the lines of an answer.
    private enum Course {
        /// The lines belong to the reply.
        case append
        /// The lines continue the text of another server.
        indirect case join(ContinuationSeam)
        /// The lines are held until one has content. Then they replace the content of the reply.
        case replace
    }

    /// How often a prompt that was too long is sent again with less of the conversation.
    private static let trimmings = 2

    private var state = State.ready
    private var plan: FailoverPlan
    private var failures = RarelyUsed<FailureRecord>()
    /// Whether an answer without thoughts is one.
    private let isThinkingOptional: Bool
    /// Whether the hooks see the complete answer before clients do.
    private let isReviewed: Bool
    /// Whether the request asks for a form of the answer.
    private let hasForm: Bool

    /// The current server, by its number among the candidates.
    private(set) var server = 0
    /// The text that the server continues; `nil` if it starts an answer.
    private(set) var text: [UInt8]?
    private var continues = false
    /// The report on the last prompt; `nil` if no prompt fitted.
    var report: PromptReport?
    private var trimmingsLeft = 0
    private var course = Course.append
    private var held: [[UInt8]] = []
    private var end: End?
    private var couldNotContinue = false
    /// The last line of the answer, once it is appended.
    var lastLine: LastLine?
    /// Whether the answer calls tools that run here.
    var callsTools = false
    /// The offset of the server's own text in the content of the round.
    private(set) var start = 0
    /// The size of the content of the round before the request, in bytes.
    private var startTotal = 0

    /// - Parameters:
    ///   - isThinkingOptional: whether a request for thoughts is sent again without it to a model that cannot think.
    ///   - isReviewed: whether the hooks see the complete answer before clients do.
    ///   - hasForm: whether the complete answer is checked.
    init(
        _ limits: RelayLimits, isThinkingOptional: Bool = false, isReviewed: Bool = false, hasForm: Bool = false
    ) {
        plan = FailoverPlan(limits)
        self.isThinkingOptional = isThinkingOptional
        self.isReviewed = isReviewed
        self.hasForm = hasForm
    }

    /// The reason why the reply ends early.
    var cancellation: RelayError? { failures.value?.cancellation }

    /// Whether the run waits for a server that may be restarting.
    var isWaitingForRestart: Bool { plan.isWaiting }

    /// The prompt that the current server found too long.
    var refused: PromptReport? { failures.value?.refused?.report }

    /// Whether the current server is asked for no thoughts, because its model cannot think.
    var omitsThinking: Bool { failures.value?.omitsThinking ?? false }

    /// The violation that the model was asked to repair; `nil` if it was not asked.
    var repaired: JSONSchemaViolation? { failures.value?.repaired }

    /// Whether lines go straight to the reply.
    var appendsLines: Bool {
        if case .append = course { true } else { false }
    }

    // MARK: - Events

    /// The first action.
    mutating func begin() -> Action {
        choose(.start)
    }

    /// Ends the run: the next event leads to `fail` with the first reason.
    mutating func cancel(_ reason: RelayError) {
        failures.update(from: FailureRecord()) { $0.cancel(reason) }
    }

    /// Records the end of the answer; `nil` for a complete one.
    mutating func answerEnded(_ error: ModelError?) {
        end = error.map { .failed($0) } ?? .complete
    }

    /// Returns the action that follows an event.
    ///
    /// - Parameters:
    ///   - now: the time of the event.
    ///   - content: the end of the reply's content, after that of earlier rounds with tools.
    mutating func handle(_ event: Event, at now: Instant, content: ReplyPosition) -> Action {
        switch (state, event) {
        case (.generating, .sent), (.generating, .progressed), (.generating, .replayed): return afterProgress(content)
        case (.judging(let end), .judged): return continueAfter(end, content)
        case (.restarting, .restarted):
            course = .append
            state = .generating
            failures.updateIfUsed { $0.isRepairPending = false }
            defer { held = [] }
            return .replay(held)
        case (.restarting, .failed(let error)):
            state = .abandoning(error)
            return .abandon
        case (.abandoning(let error), .abandoned): return fail(for: error, content)
        case (_, .failed(let error)): return fail(for: cancellation ?? error, content)
        default:
            if let cancellation { return fail(for: cancellation, content) }
            return prepare(event, at: now, content)
        }
    }

    /// The events before the request.
    private mutating func prepare(_ event: Event, at now: Instant, _ content: ReplyPosition) -> Action {
        switch (state, event) {
        case (.choosing(let reason), .candidates(let candidates)):
            return follow(step(for: reason, after: failoverProgress(of: content), at: now, candidates))
        case (.backingOff, .backedOff): return continues ? readText() : fit()
        case (.readingText, .text(let text)):
            self.text = text
            return fit()
        case (.fitting, .fitted(let report)):
            self.report = report
            course = text.map { .join(ContinuationSeam(after: $0)) } ?? (content.total == 0 ? .append : .replace)
            state = .acquiringSlot
            return .acquireSlot
        case (.fitting, .tooLong(let estimate)):
            // The server's own error is better than an estimate.
            return retry(after: failures.value?.refused?.error ?? estimate, content)
        case (.fitting, .removed):
            failures.update(from: FailureRecord()) { $0.wasServerRemoved = true }
            return choose(.removal)
        case (.acquiringSlot, .slotAcquired): return send(content)
        case (.acquiringSlot, .changed):
            // The refusal came from the server as it was.
            failures.updateIfUsed { $0.refused = nil }
            return fit()
        case (.reviewing, .reviewed): return runToolsOrCheck()
        case (.runningTools, .ranTools(let asksAgain)): return asksAgain ? beginRound() : checkOrComplete()
        case (.checking, .checked(let violation)): return continueAfter(violation, content)
        case (.learning(let error), .learned(let report)): return sendLess(report, after: error)
        default: preconditionFailure("the event does not belong to the state of the run")
        }
    }

    // MARK: - Before the request

    private mutating func choose(_ reason: Reason) -> Action {
        state = .choosing(reason)
        guard case .failure(let error) = reason else { return .listCandidates(withContexts: false) }
        return .listCandidates(withContexts: error.code == .contextTooLong && !couldNotContinue)
    }

    private mutating func step(
        for reason: Reason, after progress: FailoverPlan.Progress, at now: Instant,
        _ candidates: [FailoverPlan.Candidate]
    ) -> FailoverPlan.Step {
        switch reason {
        case .start: plan.begin(candidates)
        case .removal: plan.removed(after: progress, at: now, candidates)
        case .failure where couldNotContinue: plan.couldNotContinue(server, after: progress, at: now, candidates)
        case .failure(let error): plan.failed(error, by: server, after: progress, at: now, candidates)
        }
    }

    private mutating func follow(_ step: FailoverPlan.Step) -> Action {
        switch step {
        case .ask(let number, let delay, let continues):
            server = number
            self.continues = continues
            text = nil
            couldNotContinue = false
            trimmingsLeft = Self.trimmings
            failures.updateIfUsed { ($0.refused, $0.omitsThinking) = (nil, false) }
            state = .backingOff
            return .backOff(delay, isForRestart: plan.isWaiting)
        case .reject, .fail:
            state = .ended
            if let pending { return .fail(pending, blamesServers: true) }
            guard let cause = failures.value?.cause else {
                return .failWithoutServer(wasRemoved: failures.value?.wasServerRemoved ?? false)
            }
            guard step == .reject else { return .fail(RelayError(cause), blamesServers: true) }
            let rejection = ModelError(.rejected, cause.message, detail: "two servers said: \(cause.detail)")
            return .fail(RelayError(rejection), blamesServers: false)
        }
    }

    private mutating func readText() -> Action {
        state = .readingText
        return .readText
    }

    private mutating func fit() -> Action {
        state = .fitting
        return .fit(server)
    }

    private mutating func send(_ content: ReplyPosition) -> Action {
        callsTools = false
        start = content.text
        startTotal = content.total
        end = nil
        lastLine = nil
        held = []
        state = .generating
        return .send
    }

    // MARK: - During the request

    /// Decides on a line of the answer.
    mutating func lineArrived(_ line: Span<UInt8>, _ fields: AnswerLine) -> LineAction {
        switch course {
        case .append: return .append
        case .replace:
            guard fields.isDone || fields.hasAnswer || !held.isEmpty else { return .none }
            held.append(line.array)
            return .proceed
        case .join(var seam):
            let outcome = seam.outcome(of: line, fields)
            course = .join(seam)
            return action(for: outcome, fields)
        }
    }

    private mutating func action(for outcome: ContinuationSeam.Outcome, _ fields: AnswerLine) -> LineAction {
        let isTextOnly = fields.thinking == nil && fields.toolCalls == nil
        switch outcome {
        case .hold: return isTextOnly ? .none : .appendWithoutText
        case .continues(let text):
            course = .append
            return .appendText(text, hasMore: fields.isDone || !isTextOnly)
        case .fails:
            couldNotContinue = true
            answerEnded(
                ModelError(
                    .incomplete, "The model server did not continue the answer.",
                    detail: "it started the answer again or sent nothing"))
            return .cancel
        }
    }

    private mutating func afterProgress(_ content: ReplyPosition) -> Action {
        if cancellation != nil {
            state = .judging(.cancelled)
            return .judge(.unknown)
        }
        if case .replace = course, !held.isEmpty {
            start = 0
            startTotal = 0
            state = .restarting
            return .restart
        }
        guard let end else { return .wait }
        state = .judging(end)
        return .judge(verdict(on: end, isEmpty: content.total == 0))
    }

    // MARK: - After the request

    private func verdict(on end: End, isEmpty: Bool) -> Verdict {
        guard case .failed(let error) = end else { return .answered }
        if couldNotContinue { return .unknown }
        if !error.code.blamesServer || error.hint == .onDemand { return .answered }
        if case .request = error.hint, isEmpty { return .suspected(error) }
        return .failed(error)
    }

    private mutating func continueAfter(_ end: End, _ content: ReplyPosition) -> Action {
        if let cancellation { return fail(for: cancellation, content) }
        switch end {
        case .failed(let error): return retry(after: error, content, withLess: true)
        case .complete, .cancelled:
            guard lastLine != nil else {
                let error = RelayError(
                    .internal, "The answer ended without its last line.",
                    detail: "a model ended without a line with done")
                return fail(for: error, content)
            }
            guard !isReviewed else {
                state = .reviewing
                return .review
            }
            return runToolsOrCheck()
        }
    }

    private mutating func runToolsOrCheck() -> Action {
        guard !callsTools else {
            state = .runningTools
            return .runTools
        }
        return checkOrComplete()
    }

    private mutating func checkOrComplete() -> Action {
        guard !hasForm else {
            state = .checking
            return .check
        }
        return complete()
    }

    /// Asks the same server again, with the results of its calls.
    private mutating func beginRound() -> Action {
        callsTools = false
        text = nil
        trimmingsLeft = Self.trimmings
        failures.updateIfUsed { $0.refused = nil }
        return fit()
    }

    private mutating func complete() -> Action {
        state = .ended
        let failures = failures.value
        return .complete(
            lastLine?.bytes ?? [], refused: failures?.hasSentLess == true ? failures?.refused?.report : nil)
    }

    /// Completes an answer without a violation. The first violation is repaired by the same server, with the same members of the request;
    /// the second one ends the reply.
    private mutating func continueAfter(_ violation: JSONSchemaViolation?, _ content: ReplyPosition) -> Action {
        guard let violation else { return complete() }
        guard failures.value?.repaired == nil else {
            state = .ended
            return .fail(RelayError(violation), blamesServers: false)
        }
        failures.update(from: FailureRecord()) { ($0.repaired, $0.isRepairPending) = (violation, content.total > 0) }
        text = nil
        return fit()
    }

    /// The error of a reply whose complete answer was to be repaired, and was not; `nil` for another reply.
    private var pending: RelayError? {
        guard let failures = failures.value, failures.isRepairPending else { return nil }
        return failures.repaired.map { RelayError($0) }
    }

    /// Asks for no thoughts if the model cannot think. Sends a shorter prompt if the server refused the prompt as too long, or may have failed
    /// because of its length. Otherwise chooses the next server.
    private mutating func retry(
        after error: ModelError, _ content: ReplyPosition, withLess: Bool = false
    ) -> Action {
        if withLess, error.hint == .thinking, isThinkingOptional, !omitsThinking {
            failures.update(from: FailureRecord()) { $0.omitsThinking = true }
            return fit()
        }
        if withLess, trimmingsLeft > 0, error.hint != .onDemand, let report {
            if error.code == .contextTooLong {
                state = .learning(error)
                return .learn(error)
            }
            if mayBeTooLong(report, error, isEmpty: content.total == 0) {
                failures.update(from: FailureRecord()) { $0.hasSentLess = true }
                return sendLess(report, after: error)
            }
        }
        let isBreak = content.total > startTotal && !couldNotContinue
        failures.update(from: FailureRecord()) { $0.note(error, isBreak: isBreak) }
        return choose(.failure(error))
    }

    private mutating func sendLess(_ report: PromptReport, after error: ModelError) -> Action {
        trimmingsLeft -= 1
        failures.update(from: FailureRecord()) { $0.refused = (report, error) }
        return fit()
    }

    /// Whether the length of the prompt may have caused a failure. The prompt must be long, the context of the model unknown, and
    /// the reply empty; the answer is `true` once per reply.
    private func mayBeTooLong(_ report: PromptReport, _ error: ModelError, isEmpty: Bool) -> Bool {
        guard error.hint == .context, isEmpty, failures.value?.hasSentLess != true, report.contextLength == nil else {
            return false
        }
        return (report.estimatedTokens ?? 0) >= TokenEstimates.leastContext
    }

    /// Ends the run. If the store is unavailable, the existing text stays, and the reader gets the reason why it ends.
    private mutating func fail(for error: RelayError, _ content: ReplyPosition) -> Action {
        state = .ended
        guard error.code == .storeUnavailable, content.total > 0 else { return .fail(error, blamesServers: false) }
        if let pending { return .fail(pending, blamesServers: false) }
        guard let cause = failures.value?.cause else { return .fail(error, blamesServers: false) }
        return .fail(RelayError(cause), blamesServers: false)
    }

    private func failoverProgress(of content: ReplyPosition) -> FailoverPlan.Progress {
        guard content.total > 0 else { return .none }
        // A complete answer that is to be repaired has no continuation.
        if failures.value?.isRepairPending == true { return .other }
        return content.toolCalls == 0 && !callsTools && content.text >= ContinuationSeam.minimumOverlap ? .text : .other
    }
}
