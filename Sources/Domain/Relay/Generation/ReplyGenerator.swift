import ChatterdBasics
import ChatterdChat
import ChatterdIdentity

/// Generates one reply with model servers: performs the actions of its `GenerationRun`. Confined to its shard.
///
/// While a server works, no task waits: a waiting task would hold 19 KiB of frames. The next event starts a new one
/// (`ReplyGenerator.proceed`).
final class ReplyGenerator {
    /// How far the reply is.
    enum Outcome {
        /// A model server works; `Reply.resume` is called when the reply can proceed.
        case working
        /// The answer is complete, with this last line.
        case complete([UInt8])
    }

    let reply: Reply
    let context: ReplyContext
    /// The members for model servers, and the paths that the receipt names.
    private let members: [RawMember]
    /// The message of the system that precedes the history; none without instructions.
    private var instructions: EncodedConversation
    private var targets: ModelTargets
    var run: GenerationRun
    /// The conversation, for every server that is asked.
    var history: TurnHistory?
    /// Which servers produced which parts of the text.
    var parts: [ReplyProvenance.Part] = []

    /// The server of the current request as it was when the prompt was fitted.
    private(set) var target: ModelTarget?
    /// The prepared request, until it is sent.
    private var request = RarelyUsed<GenerationRequest>()
    var generation: (any Generation)?
    private var slot: ReplySlot
    /// Whether the current request has produced a line.
    var isAnswered = false
    var isPaused = false
    /// Whether the reply waits for a slot.
    private(set) var isInQueue = false
    /// Whether the reply has no content yet.
    var awaitsFirstToken = true
    /// The error by which the current request ended; `nil` for a complete answer.
    var failure: ModelError.Code?
    /// How the last request ended.
    var outcome: RequestOutcome?
    /// Whether no task performs actions, because a server works.
    private var isWaiting = false
    /// Whether the request has messages of the system in the place of those that the history begins with.
    private var replacesSystem: Bool
    /// The failures for which either the server or the request is at fault.
    private var suspects: [(health: UpstreamHealth, error: ModelError)] = []
    /// The tools of the server; `nil` if the request offers none.
    let tools: ReplyTools?
    /// The answer until the hooks have seen it; `nil` if there are none.
    let held: HeldAnswer?
    /// The form of the answer, with the messages that ask for a repair and the result of the last check.
    var form = RarelyUsed<CheckedForm>()
    private(set) lazy var pause = Pause(on: context.scheduler)
    /// The account of the app. Events of a model server come outside of its tasks.
    private let account = MemoryAccount.current

    init(of reply: Reply, passThrough: [RawMember], context: ReplyContext) {
        self.reply = reply
        self.context = context
        members = passThrough.withoutTexts
        instructions = EncodedConversation(instructions: passThrough.instructions)
        replacesSystem = passThrough.replacesSystem
        targets = ModelTargets(for: reply.model, in: context.upstreams)
        let form = context.limits.checksForms ? CheckedForm(members) : nil
        let app = reply.turn.conversation.owner.app
        held = HeldAnswer(of: app, hooks: context.hooks)
        run = GenerationRun(
            context.limits, isThinkingOptional: members.optionalThinking != nil, isReviewed: held != nil,
            hasForm: form != nil)
        if let form { self.form = RarelyUsed(form) }
        tools = ReplyTools(
            of: passThrough, for: reply.id, app: app, runner: context.tools, limits: context.limits)
        slot = ReplySlot(context.slots)
    }

    /// How the reply came about.
    var provenance: ReplyProvenance {
        ReplyProvenance(
            parts: parts, report: run.report, ignored: members.ignored(withThinking: run.omitsThinking),
            format: form.value?.receipt(repaired: run.repaired))
    }

    /// The members of the request for a model server, beside its messages.
    private var passThrough: [RawMember] {
        let members = tools?.isExhausted == true ? members.withoutTools : members
        return run.omitsThinking ? members.withoutKept.withoutThinking : members.withoutKept
    }

    // MARK: - The loop

    /// Starts the reply.
    func begin(_ history: TurnHistory) async throws(RelayError) -> Outcome {
        take(history)
        if let tools, reply.contentEnd.attempt > 1 { try await adopt(tools) }
        if let tools, tools.hasApproved { try await runApproved(tools) }
        return try await performUntilServerWorks(from: run.begin())
    }

    /// Takes the history. The messages of the system at its beginning become one with the instructions of the request, because templates of
    /// models refuse a second one.
    private func take(_ whole: TurnHistory) {
        if !replacesSystem, !instructions.isEmpty, let joined = instructions.joined(with: whole.leadingSystem) {
            instructions = joined
            replacesSystem = true
        }
        history = replacesSystem ? whole.withoutLeadingSystem() : whole
    }

    /// Handles the progress of a server.
    func resume() async throws(RelayError) -> Outcome {
        try await performUntilServerWorks(from: next(.progressed))
    }

    /// Performs actions until a model server works or the reply has its end.
    private func performUntilServerWorks(from first: GenerationRun.Action) async throws(RelayError) -> Outcome {
        var action = first
        while true {
            switch action {
            case .wait:
                isWaiting = true
                return .working
            case .complete(let lastLine, let refused):
                noteTokens(refused: refused)
                blameSuspects()
                return .complete(lastLineOfAllRounds(lastLine))
            case .fail(let error, let blamesServers):
                slot.release()
                if blamesServers { blameSuspects() }
                throw error
            case .failWithoutServer(let wasRemoved):
                slot.release()
                throw RelayError(absence(wasRemoved: wasRemoved))
            default:
                let event: GenerationRun.Event
                do throws(RelayError) {
                    if let done = try performNow(action) {
                        event = done
                    } else {
                        event = try await perform(action)
                    }
                } catch {
                    event = .failed(error)
                }
                action = next(event)
            }
        }
    }

    @inline(never)
    private func next(_ event: GenerationRun.Event) -> GenerationRun.Action {
        run.handle(event, at: now, content: roundEnd)
    }

    /// Performs an action that need not wait; `nil` for any other one. Most replies wait for nothing before the server, and a call that
    /// may wait costs a frame.
    ///
    /// Not inlined, because all its locals would be in the frame of the loop (docs/decisions/0048-frames-of-tasks.md).
    @inline(never)
    private func performNow(_ action: GenerationRun.Action) throws(RelayError) -> GenerationRun.Event? {
        switch action {
        case .listCandidates(let withContexts):
            if context.upstreams.needsFirstLists(for: reply.model) { return nil }
            return .candidates(candidates(withContexts: withContexts))
        case .backOff(let duration, let isForRestart):
            try checkStop(isForRestart: isForRestart)
            return duration > .zero ? nil : .backedOff
        case .fit(let server): return fitKnownHistory(to: server)
        case .acquireSlot: return slot.isNeeded(at: target?.upstream.description) ? nil : slotAcquired()
        case .send: return send()
        case .replay(let lines): return replay(lines)
        case .judge(let verdict): return judge(verdict)
        case .learn(let error): return learn(from: error)
        case .abandon: return abandon()
        case .readText, .restart, .review, .runTools, .check: return nil
        case .wait, .complete, .fail, .failWithoutServer: preconditionFailure("the loop performs these actions")
        }
    }

    /// Performs an action that waits.
    private func perform(_ action: GenerationRun.Action) async throws(RelayError) -> GenerationRun.Event {
        switch action {
        case .listCandidates(let withContexts):
            await context.upstreams.prepare(for: reply.model)
            return .candidates(candidates(withContexts: withContexts))
        case .backOff(let duration, _):
            return try await staged(.backOff) {
                await pause.wait(atMost: duration)
                return .backedOff
            }
        case .readText: return .text(Array(try await reply.wholeText().dropFirst(base.text)))
        case .fit(let server):
            try await readWholeHistory()
            // The list of servers may have changed meanwhile.
            return fitKnownHistory(to: server) ?? .removed
        case .acquireSlot:
            try await enterQueue()
            return slotAcquired()
        case .review: return try await staged(.review, review)
        case .runTools: return try await staged(.tools, runTools)
        case .check: return .checked(try await check())
        case .restart:
            generation?.pause()
            try await reply.restart()
            tools?.base = ReplyPosition()
            return .restarted
        default: preconditionFailure("the action waits for nothing")
        }
    }

    /// Performs an action that is a stage of the reply.
    private func staged(
        _ stage: ReplyTrace.Stage, _ action: () async throws(RelayError) -> GenerationRun.Event
    ) async throws(RelayError) -> GenerationRun.Event {
        let start = now
        defer { reply.facts.trace?.record(stage, from: start, to: now) }
        return try await action()
    }

    /// Continues the loop in a new task if it waits for the server.
    func proceed() {
        guard isWaiting else { return }
        isWaiting = false
        MemoryAccount.$current.withValue(account) {
            context.scheduler.spawn(with: reply) { await $0.resume() }
        }
    }

    // MARK: - Control by the reply

    /// Ends the generation. The loop throws the first reason.
    func cancel(_ reason: RelayError) {
        run.cancel(reason)
        tools?.cancel(leavesThem: reason.code == .shuttingDown)
        held?.cancel()
        generation?.cancel()
        slot.release()
        pause.end()
        proceed()
    }

    /// Ends a wait for a restarting server, because the process stops.
    func cancelRestartWait() {
        if run.isWaitingForRestart, generation == nil { cancel(ChatService.ending) }
    }

    /// Throws the reason of `cancel`.
    func checkCancellation() throws(RelayError) {
        if let cancellation = run.cancellation { throw cancellation }
    }

    /// Pauses the model.
    func pauseGeneration() {
        isPaused = true
        generation?.pause()
    }

    /// Resumes the model.
    func resumeGeneration() {
        isPaused = false
        generation?.resume()
    }

    /// Clears the list of servers that produced the text, when the text is discarded.
    func forgetParts() { parts = [] }

    // MARK: - The slot

    /// Whether the reply has a slot or waits for one.
    var usesSlot: Bool { slot.isUsed }

    /// Whether the reply has a slot and other replies wait for one; `false` if the store does not answer.
    func isSlotWanted() async -> Bool {
        let slot = slot
        return await slot.isWanted()
    }

    /// Keeps the ticket in the queue for the next owner of the reply.
    func keepTicket() { slot.keep() }

    /// Waits for a slot of the server.
    private func enterQueue() async throws(RelayError) {
        guard let (queue, ticket) = slot.makeTicket(for: reply, at: target?.upstream.description) else { return }
        let start = now
        isInQueue = true
        defer {
            isInQueue = false
            reply.isQueued(at: nil)
        }
        do throws(RelayError) {
            let reply = Confined(reply, to: context.scheduler)
            try await queue.acquire(ticket, on: context.scheduler) { reply.value.isQueued(at: $0) }
            self.reply.facts.waitedForSlot(now - start)
            self.reply.facts.trace?.record(.queue(upstream: ticket.upstream), from: start, to: now)
            context.observe(.queued(upstream: ticket.upstream, now - start))
        } catch {
            slot.forget()
            throw error
        }
    }

    // MARK: - Before the request

    var now: Instant { context.scheduler.now() }

    private func candidates(withContexts: Bool) -> [FailoverPlan.Candidate] {
        let now = now
        let targets = targets.current()
        var candidates = targets.map { target in
            guard let target else { return FailoverPlan.Candidate(isRemoved: true) }
            let (description, health) = (target.upstream.description, target.upstream.health)
            let members = withContexts ? description.merged(into: passThrough) : []
            return FailoverPlan.Candidate(
                priority: description.priority, isCoolingDown: health.isCoolingDown(at: now),
                canContinue: description.continuation != .none,
                contextTokens: withContexts ? context.estimates.window(for: target, passThrough: members).tokens : nil)
        }
        if candidates.count > 1 {
            candidates.balance(targets, for: reply.turn.conversation)
        }
        return candidates
    }

    /// Throws if the process stops: then no reply waits for a restarting server.
    private func checkStop(isForRestart: Bool) throws(RelayError) {
        guard !isForRestart || !context.isStopping else { throw ChatService.ending }
    }

    /// Fits the conversation to a server, and prepares the request; `nil` if the history does not reach back far enough.
    private func fitKnownHistory(to server: Int) -> GenerationRun.Event? {
        guard let (target, window, members) = fitting(to: server), let history else { return .removed }
        guard history.covers(window) else { return nil }
        do throws(RelayError) {
            let (messages, report) = try history.fitted(to: window)
            var request = GenerationRequest(
                model: target.model, messages: instructions.followed(by: messages).followed(by: roundMessages),
                passThrough: members)
            request.contextLength = target.upstream.description.contextLength
            request.isRecovery = roundEnd.total > 0
            if let text = run.text {
                request.beginning = ContinuationSeam.trimmed(text)
                request.continuation = target.upstream.description.continuation
            }
            self.target = target
            self.request = RarelyUsed(request)
            return .fitted(report)
        } catch {
            slot.release()
            return .tooLong(ModelError(.contextTooLong, error.message, detail: error.detail))
        }
    }

    /// A server with its window for the prompt and the members of the request. Releases the slot if the server is removed.
    private func fitting(to server: Int) -> (ModelTarget, ContextWindow, [RawMember])? {
        guard let target = targets.current()[server] else {
            slot.release()
            return nil
        }
        let members = target.upstream.description.merged(into: passThrough)
        var window = context.estimates.window(
            for: target, passThrough: members, conversation: reply.turn.conversation, refused: run.refused)
        window.overheadBytes += (run.text?.count ?? 0) + instructions.byteCount + roundMessages.byteCount
        return (target, window, members)
    }

    /// Reads the complete history: a window is larger, or unknown, contrary to the assumption when the turn was opened.
    private func readWholeHistory() async throws(RelayError) {
        history = nil
        let whole = try await context.readHistory(of: reply.turn, for: reply.id, reach: nil, pause) { [self] in
            run.cancellation
        }
        try whole.requireSize()
        take(whole)
    }

    private func slotAcquired() -> GenerationRun.Event {
        guard let target else { return .removed }
        // The slot is kept if the description has changed meanwhile.
        return targets.current()[run.server]?.upstream === target.upstream ? .slotAcquired : .changed
    }

    private func send() -> GenerationRun.Event {
        guard let target, var request = request.value else { return .removed }
        self.request = RarelyUsed()
        isAnswered = false
        tools?.forgetCalls()
        held?.clear()
        request.trace = noteRequest(to: target)
        target.upstream.health.recordRequest(at: now)
        history?.reserveForRequest()
        let generation = target.upstream.model.generate(request, to: self)
        self.generation = generation
        if isPaused {
            generation.pause()
        }
        return .sent
    }

    // MARK: - After the request

    private func judge(_ verdict: GenerationRun.Verdict) -> GenerationRun.Event {
        slot.release()
        generation = nil
        noteEnd(run.cancellation == nil ? failure.map(RequestOutcome.failed) ?? .complete : .cancelled)
        guard let target else { return .judged }
        noteParts(of: target)
        let health = target.upstream.health
        switch verdict {
        case .answered: health.recordAnswer()
        case .unknown: health.recordNoVerdict()
        case .failed(let error): health.recordFailure(error, at: now)
        case .suspected(let error):
            health.recordNoVerdict()
            suspects.append((health, error))
            if error.code == .modelNotFound { context.upstreams.refresh(after: reply.model) }
        }
        return .judged
    }

    private func abandon() -> GenerationRun.Event {
        generation?.cancel()
        target?.upstream.health.recordNoVerdict()
        noteEnd(.cancelled)
        slot.release()
        return .abandoned
    }

    private func learn(from error: ModelError) -> GenerationRun.Event {
        guard let target, var report = run.report else { return .removed }
        context.estimates.learn(from: error, of: target, refused: &report)
        return .learned(report)
    }

    /// Counts the recorded failures against their servers: the request was not at fault.
    private func blameSuspects() {
        for suspect in suspects {
            suspect.health.recordLateFailure(suspect.error, at: now)
        }
        suspects = []
    }

    /// The error if no server can be asked.
    @inline(never)
    private func absence(wasRemoved: Bool) -> ModelError {
        let refusal = context.upstreams.refusal(of: reply.model)
        guard wasRemoved, refusal.code == .modelNotFound else { return refusal }
        return ModelError(
            .modelNotFound, "The model server was removed, or lost the model, while the prompt waited for it.")
    }
}
