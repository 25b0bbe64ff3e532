import ChatterdBasics
import ChatterdIdentity
import ChatterdLanguageModels

/// Generates one reply with model servers: performs the actions of its `GenerationRun`. Confined to its shard.
///
/// While a server works, no task waits: a waiting task would hold 19 KiB of frames. The next event starts a new one
/// (`ReplyGenerator.proceed`).
final class ReplyGenerator: GenerationConsumer {
    /// How far the reply is.
    enum Outcome {
        /// A model server works; `Reply.resume` is called when the reply can proceed.
        case working
        /// The answer is complete, with this last line.
        case complete([UInt8])
    }

    private let reply: Reply
    private let context: ReplyContext
    private let passThrough: [RawMember]
    private var targets: ModelTargets
    private var run: GenerationRun
    /// The conversation, for every server that is asked.
    private var history: TurnHistory?
    /// Which servers produced which parts of the text.
    private var parts: [ReplyProvenance.Part] = []

    /// The server of the current request as it was when the prompt was fitted.
    private var target: ModelTarget?
    /// The prepared request, until it is sent.
    private var request = RarelyUsed<GenerationRequest>()
    private var generation: (any Generation)?
    /// The ticket for the slot that the reply holds or waits for.
    private var ticket: SlotTicket?
    /// Whether the current request has produced a line.
    private var isAnswered = false
    private var isPaused = false
    /// Whether no task performs actions, because a server works.
    private var isWaiting = false
    /// The failures for which either the server or the request is at fault.
    private var suspects: [(health: UpstreamHealth, error: ModelError)] = []
    private lazy var pause = Pause(on: context.scheduler)

    init(of reply: Reply, passThrough: [RawMember], context: ReplyContext) {
        self.reply = reply
        self.context = context
        self.passThrough = passThrough
        targets = ModelTargets(for: reply.model, in: context.upstreams)
        run = GenerationRun(context.limits)
    }

    /// How the reply came about.
    var provenance: ReplyProvenance { ReplyProvenance(parts: parts, report: run.report) }

    // MARK: - The loop

    /// Starts the reply.
    func begin(_ history: TurnHistory) async throws(RelayError) -> Outcome {
        self.history = history
        return try await performUntilServerWorks(from: run.begin())
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
                noteTokens(lastLine, refused: refused)
                blameSuspects()
                return .complete(lastLine)
            case .fail(let error, let blamesServers):
                releaseSlot()
                if blamesServers { blameSuspects() }
                throw error
            case .failWithoutServer(let wasRemoved):
                releaseSlot()
                throw RelayError(absence(wasRemoved: wasRemoved))
            default:
                let event: GenerationRun.Event
                do throws(RelayError) {
                    event = try await perform(action)
                } catch {
                    event = .failed(error)
                }
                action = next(event)
            }
        }
    }

    private func next(_ event: GenerationRun.Event) -> GenerationRun.Action {
        run.handle(event, at: now, content: reply.contentEnd)
    }

    private func perform(_ action: GenerationRun.Action) async throws(RelayError) -> GenerationRun.Event {
        switch action {
        case .listCandidates(let withContexts): return .candidates(candidates(withContexts: withContexts))
        case .backOff(let duration, let isForRestart):
            return try await backOff(duration, isForRestart: isForRestart)
        case .readText: return .text(try await reply.wholeText())
        case .fit(let server): return try await fit(to: server)
        case .acquireSlot: return try await acquireSlot()
        case .send: return send()
        case .restart:
            generation?.pause()
            try await reply.restart()
            return .restarted
        case .replay(let lines): return replay(lines)
        case .judge(let verdict): return judge(verdict)
        case .learn(let error): return learn(from: error)
        case .abandon: return abandon()
        case .wait, .complete, .fail, .failWithoutServer: preconditionFailure("the loop performs these actions")
        }
    }

    /// Continues the loop in a new task if it waits for the server.
    private func proceed() {
        guard isWaiting else { return }
        isWaiting = false
        context.scheduler.spawn(with: reply) { await $0.resume() }
    }

    // MARK: - Control by the reply

    /// Ends the generation. The loop throws the first reason.
    func cancel(_ reason: RelayError) {
        run.cancel(reason)
        generation?.cancel()
        releaseSlot()
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
    var usesSlot: Bool { ticket != nil }

    /// Whether the reply has a slot and other replies wait for one; `false` if the store does not answer.
    func isSlotWanted() async -> Bool {
        guard let ticket, let slots = context.slots else { return false }
        return (try? await slots.isAnyoneWaiting(at: ticket.upstream)) ?? false
    }

    /// Keeps the ticket in the queue for the next owner of the reply.
    func keepTicket() {
        if let ticket = ticket.take() {
            context.slots?.keep(ticket)
        }
    }

    private func releaseSlot() {
        if let ticket = ticket.take() {
            context.slots?.release(ticket)
        }
    }

    /// Waits for a slot if the server has slots, unless the reply has one.
    private func enterQueue(of description: UpstreamDescription) async throws(RelayError) {
        guard ticket == nil, let slots = context.slots, let count = description.slots else { return }
        let ticket = SlotTicket(
            upstream: description.name, slots: count, reply: reply.id, owner: reply.turn.conversation.owner.keyPrefix)
        self.ticket = ticket
        defer { reply.isQueued(at: nil) }
        do throws(RelayError) {
            let reply = Confined(reply, to: context.scheduler)
            try await slots.acquire(ticket, on: context.scheduler) { reply.value.isQueued(at: $0) }
        } catch {
            self.ticket = nil
            throw error
        }
    }

    // MARK: - Before the request

    private var now: Instant { context.scheduler.now() }

    private func candidates(withContexts: Bool) -> [FailoverPlan.Candidate] {
        let now = now
        return targets.current().map { target in
            guard let target else { return FailoverPlan.Candidate(isRemoved: true) }
            let (description, health) = (target.upstream.description, target.upstream.health)
            let members = withContexts ? description.merged(into: passThrough) : []
            return FailoverPlan.Candidate(
                priority: description.priority, isCoolingDown: health.isCoolingDown(at: now),
                isFull: description.slots.map { health.running >= $0 } ?? false,
                canContinue: description.continuation != .none,
                contextTokens: withContexts ? context.estimates.window(for: target, passThrough: members).tokens : nil)
        }
    }

    private func backOff(
        _ duration: Duration, isForRestart: Bool
    ) async throws(RelayError) -> GenerationRun.Event {
        // A stopping process does not wait for a restarting server.
        guard !isForRestart || !context.isStopping else { throw ChatService.ending }
        if duration > .zero {
            await pause.wait(atMost: duration)
        }
        return .backedOff
    }

    /// Fits the conversation to a server, and prepares the request.
    private func fit(to server: Int) async throws(RelayError) -> GenerationRun.Event {
        guard var (target, window, members) = fitting(to: server) else { return .removed }
        if history?.covers(window) == false {
            try await readWholeHistory()
            // The list of servers may have changed meanwhile.
            guard let current = fitting(to: server) else { return .removed }
            (target, window, members) = current
        }
        guard let history else { return .removed }
        do throws(RelayError) {
            let (messages, report) = try history.fitted(to: window)
            var request = GenerationRequest(model: target.model, messages: messages, passThrough: members)
            request.contextLength = target.upstream.description.contextLength
            request.isRecovery = !reply.isEmpty
            if let text = run.text {
                request.beginning = ContinuationSeam.trimmed(text)
                request.continuation = target.upstream.description.continuation
            }
            self.target = target
            self.request = RarelyUsed(request)
            return .fitted(report)
        } catch {
            releaseSlot()
            return .tooLong(ModelError(.contextTooLong, error.message, detail: error.detail))
        }
    }

    /// A server with its window for the prompt and the members of the request. Releases the slot if the server is removed.
    private func fitting(to server: Int) -> (ModelTarget, ContextWindow, [RawMember])? {
        guard let target = targets.current()[server] else {
            releaseSlot()
            return nil
        }
        let members = target.upstream.description.merged(into: passThrough)
        var window = context.estimates.window(
            for: target, passThrough: members, conversation: reply.turn.appID, refused: run.refused)
        window.overheadBytes += run.text?.count ?? 0
        return (target, window, members)
    }

    /// Reads the complete history: a window is larger, or unknown, contrary to the assumption when the turn was opened.
    private func readWholeHistory() async throws(RelayError) {
        history = nil
        let whole = try await context.readHistory(of: reply.turn, for: reply.id, reach: nil, pause) { [self] in
            run.cancellation
        }
        try whole.requireSize()
        history = whole
    }

    private func acquireSlot() async throws(RelayError) -> GenerationRun.Event {
        guard let target else { return .removed }
        try await enterQueue(of: target.upstream.description)
        // The slot is kept if the description has changed meanwhile.
        return targets.current()[run.server]?.upstream === target.upstream ? .slotAcquired : .changed
    }

    private func send() -> GenerationRun.Event {
        guard let target, let request = request.value else { return .removed }
        self.request = RarelyUsed()
        isAnswered = false
        target.upstream.health.recordRequest(at: now)
        history?.reserveForRequest()
        let generation = target.upstream.model.generate(request, to: self)
        self.generation = generation
        if isPaused {
            generation.pause()
        }
        return .sent
    }

    // MARK: - During the request

    func generation(_ generation: any Generation, lines: LineRun) {
        if !isAnswered {
            isAnswered = true
            history?.releaseRequest()
        }
        var first = 0
        // Lines that decide the course of the run are handled one at a time.
        while !run.appendsLines {
            let (line, fields) = (lines.line(at: first), lines.fields(at: first))
            let action = run.lineArrived(line, fields)
            apply(action, line, fields)
            first += 1
            guard action != .cancel, run.cancellation == nil, first < lines.count else { return }
        }
        append(first == 0 ? lines : lines.from(first))
    }

    func generationEnded(_ generation: any Generation, error: ModelError?) {
        run.answerEnded(error)
        proceed()
    }

    private func apply(_ action: GenerationRun.LineAction, _ line: Span<UInt8>, _ fields: AnswerLine) {
        switch action {
        case .append: append(LineRun(line: line, fields: fields))
        case .appendWithoutText: appendWithoutText(line, fields)
        case .appendText(let text, let hasMore):
            if !text.isEmpty {
                var said = ByteBuffer()
                AnswerLineWriter(model: reply.model).append(
                    content: text.span, at: context.scheduler.timeOfDay(), to: &said)
                append(parsing: said.array)
            }
            if hasMore { appendWithoutText(line, fields) }
        case .none: break
        case .proceed: proceed()
        case .cancel:
            generation?.cancel()
            proceed()
        }
    }

    private func append(_ lines: LineRun) {
        if lines.isDone {
            run.lastLine = lines.bytes.array
        }
        reply.append(lines)
    }

    /// Appends a line that was checked before, so that parsing it cannot fail.
    private func append(parsing line: [UInt8]) {
        guard let fields = try? AnswerLine(line.span) else { return }
        append(LineRun(line: line.span, fields: fields))
    }

    private func appendWithoutText(_ line: Span<UInt8>, _ fields: AnswerLine) {
        var rest = ByteBuffer()
        rest.append(emptyingContentOf: fields, in: line)
        append(parsing: rest.array)
    }

    private func replay(_ lines: [[UInt8]]) -> GenerationRun.Event {
        forgetParts()
        for line in lines {
            append(parsing: line)
        }
        if !isPaused {
            generation?.resume()
        }
        return .replayed
    }

    // MARK: - After the request

    private func judge(_ verdict: GenerationRun.Verdict) -> GenerationRun.Event {
        releaseSlot()
        generation = nil
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
        }
        return .judged
    }

    private func abandon() -> GenerationRun.Event {
        generation?.cancel()
        target?.upstream.health.recordNoVerdict()
        releaseSlot()
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

    /// Records which server produced the text of the request.
    private func noteParts(of target: ModelTarget) {
        let end = reply.contentEnd.text
        guard end > run.start else { return }
        parts.append(
            ReplyProvenance.Part(
                upstream: target.upstream.description.name, model: target.model, text: run.start..<end))
    }

    /// Compares the estimates with the token counts in the last line.
    private func noteTokens(_ lastLine: [UInt8], refused: PromptReport?) {
        guard let target, var report = run.report else { return }
        let counts = try? AnswerLine(lastLine.span)
        context.estimates.note(
            counts?.promptTokens, and: counts?.answerTokens.flatMap(answer), in: &report, of: target,
            for: reply.turn.appID)
        if let refused {
            context.estimates.suspect(refused, of: target)
        }
        run.report = report
    }

    /// The answer in the form of the next prompt; `nil` if the server counted more than its text.
    private func answer(tokens: Int) -> TokenEstimates.Answer? {
        let end = reply.contentEnd
        guard parts.count == 1, run.start == 0, end.total == end.text else { return nil }
        return TokenEstimates.Answer(text: end.text, tokens: tokens)
    }

    /// The error if no server can be asked.
    private func absence(wasRemoved: Bool) -> ModelError {
        let refusal = context.upstreams.refusal(of: reply.model)
        guard wasRemoved, refusal.code == .modelNotFound else { return refusal }
        return ModelError(.modelNotFound, "The model server was removed while the prompt waited for it.")
    }
}
