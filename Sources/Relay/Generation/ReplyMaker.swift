import ChatterdBasics
import ChatterdLanguageModels

/// Has model servers make one reply: waits for a slot, asks, and does what `RescuePlan` says when one fails. Confined to its
/// shard.
final class ReplyMaker: GenerationConsumer, @unchecked Sendable {
    /// How often a prompt that was too long is sent again with less of the conversation.
    private static let trimmings = 2

    /// What came of one request.
    enum Outcome {
        /// The answer is whole; this is its last line.
        case answered([UInt8])
        /// The model server failed.
        case failed(ModelError)
        /// The model server is not in the list any more; nothing was asked.
        case changed
    }

    /// What is done with the lines of the answer.
    enum Course {
        /// They are the reply's.
        case pass
        /// They go on behind the text of another server.
        case join(TextJoint)
        /// They are held: when there is one with text, it takes the place of what the reply has.
        case replace
    }

    /// The end of an answer.
    private enum End {
        case whole
        /// Apart, as it is large, and mostly never comes.
        indirect case failed(ModelError)
    }

    let reply: Reply
    let service: ChatService
    private let passThrough: [RawMember]
    private var choices: UpstreamChoices
    var plan: RescuePlan
    /// `nil` for most replies.
    var trouble: ReplyTrouble?
    /// Kept as it was read: another server may have to be asked while the store is away.
    private var history: TurnHistory?
    /// How the reply came about.
    private(set) var account = ReplyAccount()

    /// The server that is asked, by its number among the choices, and as it was when it was asked.
    var number = 0
    private var asked: UpstreamChoice?
    var trimmingsLeft = 0
    /// The text that it goes on behind; nothing when it is to begin from the start.
    private var text: [UInt8]?
    /// Where its own text begins.
    private var start = 0
    /// The size of the reply before the request, in bytes.
    var startTotal = 0
    var generation: (any Generation)?
    var course = Course.pass
    var held: [[UInt8]] = []
    private var finalLine: [UInt8]?
    /// The end of the request under way, once it has come.
    private var end: End?
    /// Whether the server was asked to continue the text, and did not.
    var couldNotContinue = false
    /// Whether the current request has produced a line.
    private var isAnswered = false
    private var isPaused = false
    /// Whether the reply is to be called when there is something to do.
    private var isIdle = false
    var ticket: SlotTicket?
    private lazy var pause = Pause(on: service.scheduler)

    init(of reply: Reply, passThrough: [RawMember], service: ChatService) {
        self.reply = reply
        self.service = service
        self.passThrough = passThrough
        choices = UpstreamChoices(for: reply.model, in: service.upstreams)
        plan = RescuePlan(service.limits)
    }

    // MARK: - The reply

    /// Asks for the reply.
    ///
    /// - Returns: its last line; nothing while a model server is at work. `Reply.goOn` is called when there is something to do.
    func begin(_ history: TurnHistory) async throws(RelayError) -> [UInt8]? {
        self.history = history
        return try await take(plan.begin(candidates()))
    }

    /// Does what there is to do; returns as `begin` does.
    func goOn() async throws(RelayError) -> [UInt8]? {
        try await take(nil)
    }

    /// Takes a step of the plan, or hears the server that is at work, and does what follows.
    private func take(_ first: RescuePlan.Step?) async throws(RelayError) -> [UInt8]? {
        var step = first
        while true {
            do throws(RelayError) {
                let outcome = if let step { try await take(step) } else { try await hear() }
                switch outcome {
                case nil: return nil
                case .answered(let lastLine):
                    trouble?.blameSuspects(at: now)
                    return lastLine
                case .failed(let error): step = next(after: error)
                case .changed:
                    troubled().isAbsent = true
                    step = plan.removed(after: progress, at: now, candidates())
                }
            } catch  where error.code == .storeUnavailable && !reply.isEmpty {
                // What there is stays: it could not be replaced.
                throw trouble?.cause.map { RelayError($0) } ?? error
            }
        }
    }

    private func take(_ step: RescuePlan.Step) async throws(RelayError) -> Outcome? {
        guard case .ask(let number, let delay, let continues) = step else { throw failure(step) }
        // A stopping process does not wait for a restarting server.
        guard !plan.isWaiting || !service.isStopping else { throw ChatService.ending }
        if delay > .zero {
            await pause.wait(atMost: delay)
        }
        try checkCancellation()
        self.number = number
        couldNotContinue = false
        trouble?.refused = nil
        trimmingsLeft = Self.trimmings
        text = continues ? try await reply.wholeText() : nil
        return try await ask()
    }

    /// Ends it; what runs, or is called next, throws the reason.
    func cancel(_ reason: RelayError) {
        let trouble = troubled()
        trouble.cancellation = trouble.cancellation ?? reason
        generation?.cancel()
        giveSlotBack()
        pause.end()
        wake()
    }

    /// Ends a wait for a restarting server, because the process stops.
    func stopWaiting() {
        if plan.isWaiting, generation == nil { cancel(ChatService.ending) }
    }

    var now: UInt64 { service.scheduler.now() }

    /// Holds the model back.
    func holdBack() {
        isPaused = true
        generation?.pause()
    }

    /// Lets the model go on.
    func letGo() {
        isPaused = false
        generation?.resume()
    }

    /// Throws the reason of `cancel`, once there is one.
    func checkCancellation() throws(RelayError) {
        if let cancellation { throw cancellation }
    }

    var cancellation: RelayError? { trouble?.cancellation }

    func troubled() -> ReplyTrouble {
        if let trouble { return trouble }
        let trouble = ReplyTrouble()
        self.trouble = trouble
        return trouble
    }

    var progress: RescuePlan.Progress {
        let content = reply.contentEnd
        guard content.total > 0 else { return .none }
        return content.toolCalls == 0 && content.text >= TextJoint.proof ? .text : .other
    }

    func candidates(withContexts: Bool = false) -> [RescuePlan.Candidate] {
        let now = now
        return choices.current().map { choice in
            guard let choice else { return RescuePlan.Candidate(isGone: true) }
            let (description, health) = (choice.upstream.description, choice.upstream.health)
            let members = withContexts ? description.merged(into: passThrough) : []
            return RescuePlan.Candidate(
                priority: description.priority, isUnwilling: health.isUnwilling(at: now),
                isFull: description.slots.map { health.running >= $0 } ?? false,
                canContinue: description.continuation != .none,
                context: withContexts ? service.estimates.window(for: choice, passThrough: members).tokens : nil)
        }
    }

    // MARK: - One request

    /// Asks for as much as fits; returns an outcome when there is nothing to wait for.
    func ask() async throws(RelayError) -> Outcome? {
        guard let history else { throw RelayError(.internal, "The reply has no conversation.") }
        defer { if generation == nil { giveSlotBack() } }
        while true {
            guard let choice = choices.current()[number] else { return .changed }
            let description = choice.upstream.description
            let members = description.merged(into: passThrough)
            var window = service.estimates.window(
                for: choice, passThrough: members, conversation: reply.turn.appID,
                refused: trouble?.refused?.receipt)
            window.besides += text?.count ?? 0
            let fitted: (messages: EncodedMessages, receipt: ReplyReceipt)
            do throws(RelayError) {
                fitted = try history.fitted(to: window)
            } catch {
                // What the server has said is worth more than an estimate.
                let estimate = ModelError(.contextTooLong, error.message, detail: error.detail)
                return .failed(trouble?.refused?.error ?? estimate)
            }
            var request = GenerationRequest(model: choice.model, messages: fitted.messages, passThrough: members)
            request.contextLength = description.contextLength
            request.isRecovery = !reply.isEmpty
            if let text {
                request.beginning = TextJoint.shown(text)
                request.continuation = description.continuation
            }
            account.receipt = fitted.receipt
            course = text.map { .join(TextJoint(behind: $0)) } ?? (reply.isEmpty ? .pass : .replace)
            // Who was cancelled while the text was read would wait for a slot that nobody gives back.
            try checkCancellation()
            try await takeSlot(of: description)
            try checkCancellation()
            // It may have been repaired while the reply waited, or be somewhere else. The slot is kept for it.
            guard choices.current()[number]?.upstream === choice.upstream else {
                // What was refused there was not refused here.
                trouble?.refused = nil
                continue
            }
            asked = choice
            start = reply.contentEnd.text
            startTotal = reply.contentEnd.total
            choice.upstream.health.begin(at: now)
            history.willBeSent()
            begin(choice.upstream.model.generate(request, to: self))
            return try await hear()
        }
    }

    /// Does what the answer under way brings; nothing while more of it is to come.
    private func hear() async throws(RelayError) -> Outcome? {
        guard let choice = asked else { throw RelayError(.internal, "No model server has been asked.") }
        let health = choice.upstream.health
        if isToReplace, cancellation == nil {
            (start, startTotal) = (0, 0)
            do throws(RelayError) {
                try await replace(health)
            } catch {
                giveSlotBack()
                throw error
            }
        }
        guard cancellation != nil || end != nil else {
            isIdle = true
            return nil
        }
        giveSlotBack()
        generation = nil
        note(choice, from: start)
        guard cancellation == nil, let end else {
            health.leftAlone()
            throw cancellation ?? RelayError(.internal, "The answer ended without an end.")
        }
        switch end {
        case .whole:
            health.answered()
            guard let finalLine else {
                throw RelayError(
                    .internal, "The answer ended without its last line.",
                    detail: "a model ended without a line with done")
            }
            if var receipt = account.receipt {
                let counted = try? AnswerLine(finalLine.span)
                service.estimates.note(
                    counted?.promptTokens, and: counted?.answerTokens.flatMap(answer), in: &receipt, of: choice,
                    for: reply.turn.appID)
                if trouble?.hasSentLess == true, let refused = trouble?.refused?.receipt {
                    service.estimates.suspect(refused, of: choice)
                }
                account.receipt = receipt
            }
            return .answered(finalLine)
        case .failed(let error):
            judge(error, of: health)
            return try await askAgain(choice, after: error)
        }
    }

    private func begin(_ generation: any Generation) {
        end = nil
        finalLine = nil
        held = []
        isAnswered = false
        self.generation = generation
        if isPaused {
            generation.pause()
        }
    }

    /// Has the reply go on, if it waits for that; in a task, as whatever comes may take time.
    func wake() {
        guard isIdle else { return }
        isIdle = false
        service.scheduler.spawn { [self] in await reply.goOn(self) }
    }

    private var isToReplace: Bool {
        if case .replace = course { !held.isEmpty } else { false }
    }

    /// Clears the list of servers that produced the text, when the text is discarded.
    func forgetParts() { account.parts = [] }

    /// The reply begins anew with what is held.
    private func replace(_ health: UpstreamHealth) async throws(RelayError) {
        generation?.pause()
        do throws(RelayError) {
            try await reply.beginAgain()
        } catch {
            generation?.cancel()
            health.leftAlone()
            throw error
        }
        forgetParts()
        course = .pass
        let lines = held
        held = []
        for line in lines {
            pass(line)
        }
        if !isPaused {
            generation?.resume()
        }
    }

    /// The answer in the form of the next prompt; `nil` if the server counted more than its text.
    private func answer(tokens: Int) -> TokenEstimates.Answer? {
        let end = reply.contentEnd
        guard account.parts.count == 1, start == 0, end.total == end.text else { return nil }
        return TokenEstimates.Answer(text: end.text, tokens: tokens)
    }

    /// Notes who made the text from `start` on.
    private func note(_ choice: UpstreamChoice, from start: Int) {
        let end = reply.contentEnd.text
        guard end > start else { return }
        account.parts.append(
            ReplyAccount.Part(
                upstream: choice.upstream.description.name, model: choice.model, text: start..<end))
    }

    // MARK: - GenerationConsumer

    func generation(_ generation: any Generation, line: Span<UInt8>, fields: AnswerLine) {
        if !isAnswered {
            isAnswered = true
            history?.wasSent()
        }
        if case .pass = course {
            pass(line, fields)
        } else {
            examine(line, fields)
        }
    }

    func generationEnded(_ generation: any Generation, error: ModelError?) {
        finish(error)
    }

    func finish(_ error: ModelError?) {
        end = error.map { .failed($0) } ?? .whole
        wake()
    }

    func pass(_ line: Span<UInt8>, _ fields: AnswerLine) {
        if fields.isDone {
            finalLine = line.withUnsafeBufferPointer { Array($0) }
        }
        reply.take(line, fields)
    }

    /// Passes a line of our own making, or one that was read before: it reads.
    func pass(_ line: [UInt8]) {
        guard let fields = try? AnswerLine(line.span) else { return }
        pass(line.span, fields)
    }
}
