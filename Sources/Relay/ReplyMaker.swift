import Bytes
import LanguageModels

/// Has model servers make one reply: waits for a slot, asks, and does what `RescuePlan` says when one fails. Confined to its
/// shard.
final class ReplyMaker: GenerationConsumer, @unchecked Sendable {
    /// How often a prompt that was too long is sent again with less of the conversation.
    private static let trimmings = 2

    /// What came of one request.
    private enum Outcome {
        /// The answer is whole; this is its last line.
        case answered([UInt8])
        /// The model server failed.
        case failed(ModelError)
        /// The model server is not in the list any more as it was; nothing was asked.
        case changed
    }

    /// What is done with the lines of the answer.
    private enum Course {
        /// They are the reply's.
        case pass
        /// They go on behind the text of another server.
        case join(TextJoint)
        /// They are held: when there is one with text, it takes the place of what the reply has.
        case replace
    }

    private let reply: Reply
    private let service: ChatService
    private let passThrough: [RawMember]
    private var choices: UpstreamChoices
    private var plan: RescuePlan
    /// Those among them that were asked to go on, and began from the start.
    private var repeaters: Set<Int> = []
    /// How the reply came about.
    private(set) var account = ReplyAccount()

    private var generation: (any Generation)?
    private var course = Course.pass
    private var held: [[UInt8]] = []
    private var finalLine: [UInt8]?
    /// The end of the request under way, once it has come.
    private var end: Result<Void, ModelError>?
    private var hasRepeated = false
    private var isPaused = false
    private var ticket: SlotTicket?
    private var cancellation: RelayError?
    private let pause: Pause
    private var change: CheckedContinuation<Void, Never>?

    init(of reply: Reply, passThrough: [RawMember], service: ChatService) {
        self.reply = reply
        self.service = service
        self.passThrough = passThrough
        choices = UpstreamChoices(for: reply.model, in: service.upstreams)
        plan = RescuePlan(service.limits)
        pause = Pause(on: service.scheduler)
    }

    // MARK: - The reply

    /// Makes the reply; returns its last line.
    func run(_ history: TurnHistory) async throws(RelayError) -> [UInt8] {
        var failure: ModelError?
        var absence = "There is no model server."
        var step = plan.begin(candidates())
        while case .ask(let number, let delay, let goOn) = step {
            if delay > .zero {
                await pause.wait(atMost: delay)
            }
            try checkCancellation()
            do throws(RelayError) {
                switch try await askForAsMuchAsFits(number, history, goOn: goOn) {
                case .answered(let lastLine):
                    return lastLine
                case .failed(let error):
                    let isTooLong = error.code == .contextTooLong
                    // That another one takes less does not say why the first one failed; that it takes more, and not enough, does.
                    if !isTooLong || failure.map({ $0.code == .contextTooLong }) ?? true { failure = error }
                    if hasRepeated {
                        repeaters.insert(number)
                    }
                    step = plan.failed(error, by: number, after: progress, candidates(withContexts: isTooLong))
                case .changed:
                    absence = "The model server was removed while the prompt waited for it."
                    step = plan.removed(after: progress, candidates())
                }
            } catch  where error.code == .storeUnavailable && !reply.isEmpty {
                // What there is stays: it could not be replaced.
                throw failure.map { RelayError($0) } ?? error
            }
        }
        throw RelayError(failure ?? ModelError(.modelNotFound, absence))
    }

    /// Ends it; `run` throws the reason.
    func cancel(_ reason: RelayError) {
        cancellation = cancellation ?? reason
        generation?.cancel()
        giveSlotBack()
        pause.end()
        change.take()?.resume()
    }

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

    private var progress: RescuePlan.Progress {
        let content = reply.contentEnd
        guard content.total > 0 else { return .none }
        return content.toolCalls == 0 && content.text >= TextJoint.proof ? .text : .other
    }

    private func candidates(withContexts: Bool = false) -> [RescuePlan.Candidate] {
        let now = service.scheduler.now()
        return choices.current().enumerated().map { number, choice in
            guard let choice else { return RescuePlan.Candidate(isGone: true) }
            let (description, health) = (choice.upstream.description, choice.upstream.health)
            let members = withContexts ? description.merged(into: passThrough) : []
            return RescuePlan.Candidate(
                priority: description.priority, isUnwilling: health.isUnwilling(at: now),
                isFull: description.slots.map { health.running >= $0 } ?? false,
                goesOn: description.continuation != .none && !repeaters.contains(number),
                context: withContexts ? service.estimates.window(for: choice, passThrough: members).tokens : nil)
        }
    }

    // MARK: - One request

    /// Asks, with less of the conversation when the model server finds it too long.
    private func askForAsMuchAsFits(
        _ number: Int, _ history: TurnHistory, goOn: Bool
    ) async throws(RelayError) -> Outcome {
        hasRepeated = false
        defer { giveSlotBack() }
        let text = goOn ? try await reply.wholeText() : nil
        var refused: (receipt: ReplyReceipt, error: ModelError)?
        var trimmingsLeft = Self.trimmings
        while true {
            guard let choice = choices.current()[number] else { return .changed }
            let description = choice.upstream.description
            let members = description.merged(into: passThrough)
            var window = service.estimates.window(for: choice, passThrough: members, refused: refused?.receipt)
            window.besides += text?.count ?? 0
            let fitted: (messages: EncodedMessages, receipt: ReplyReceipt)
            do throws(RelayError) {
                fitted = try history.fitted(to: window)
            } catch {
                // What the server has said is worth more than an estimate.
                return .failed(refused?.error ?? ModelError(.contextTooLong, error.message, detail: error.detail))
            }
            var receipt = fitted.receipt
            var request = GenerationRequest(model: choice.model, messages: fitted.messages, passThrough: members)
            request.contextLength = description.contextLength
            if let text {
                request.beginning = TextJoint.shown(text)
                request.continuation = description.continuation
            }
            account.receipt = receipt
            course = text.map { .join(TextJoint(behind: $0)) } ?? (reply.isEmpty ? .pass : .replace)
            let outcome = try await ask(choice, number, request)
            switch outcome {
            case .changed:
                // What was refused there was not refused here.
                refused = nil
                continue
            case .answered(let lastLine):
                let counted = (try? OllamaLine(lastLine.span))?.promptTokens
                service.estimates.note(counted, in: &receipt, of: choice)
                account.receipt = receipt
            case .failed(let error) where error.code == .contextTooLong && trimmingsLeft > 0:
                trimmingsLeft -= 1
                service.estimates.learn(from: error, of: choice, refused: &receipt)
                refused = (receipt, error)
                continue
            case .failed: break
            }
            return outcome
        }
    }

    private func ask(
        _ choice: UpstreamChoice, _ number: Int, _ request: GenerationRequest
    ) async throws(RelayError) -> Outcome {
        // Who was cancelled while the text was read would wait for a slot that nobody gives back.
        try checkCancellation()
        try await takeSlot(of: choice.upstream.description)
        try checkCancellation()
        // It may have been repaired while the reply waited, or be somewhere else. The slot is kept for it.
        guard choices.current()[number]?.upstream === choice.upstream else { return .changed }
        defer { giveSlotBack() }
        var start = reply.contentEnd.text
        let health = choice.upstream.health
        health.begin(at: service.scheduler.now())
        begin(choice.upstream.model.generate(request, to: self))
        await somethingToDo()
        if isToReplace, cancellation == nil {
            start = 0
            try await replace(health)
            await somethingToDo()
        }
        generation = nil
        note(choice, from: start)
        guard cancellation == nil, let end else {
            health.leftAlone()
            throw cancellation ?? RelayError(.internal, "The answer ended without an end.")
        }
        switch end {
        case .success:
            health.answered()
            guard let finalLine else {
                throw RelayError(
                    .internal, "The answer ended without its last line.",
                    detail: "a model ended without a line with done")
            }
            return .answered(finalLine)
        case .failure(let error):
            if error.code.isOfTheServer {
                health.failed(error, at: service.scheduler.now())
            } else {
                health.answered()
            }
            return .failed(error)
        }
    }

    private func begin(_ generation: any Generation) {
        end = nil
        finalLine = nil
        held = []
        self.generation = generation
        if isPaused {
            generation.pause()
        }
    }

    /// Waits until the answer has ended, or has come to replace what there is.
    private func somethingToDo() async {
        guard cancellation == nil, end == nil, !isToReplace else { return }
        await withCheckedContinuation { change = $0 }
    }

    private var isToReplace: Bool {
        if case .replace = course { !held.isEmpty } else { false }
    }

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
        account.parts = []
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

    /// Notes who made the text from `start` on.
    private func note(_ choice: UpstreamChoice, from start: Int) {
        let end = reply.contentEnd.text
        guard end > start else { return }
        account.parts.append(
            ReplyAccount.Part(
                upstream: choice.upstream.description.name, model: choice.model, text: start..<end))
    }

    private func takeSlot(of description: UpstreamDescription) async throws(RelayError) {
        guard ticket == nil, let slots = service.slots, let count = description.slots else { return }
        let ticket = SlotTicket(upstream: description.name, slots: count, reply: reply.id, appID: reply.turn.appID)
        self.ticket = ticket
        defer { reply.waits(at: nil) }
        do throws(RelayError) {
            try await slots.take(ticket, on: service.scheduler) { [weak self] place in self?.reply.waits(at: place) }
        } catch {
            self.ticket = nil
            throw cancellation ?? error
        }
    }

    private func giveSlotBack() {
        if let ticket = ticket.take() {
            service.slots?.giveBack(ticket)
        }
    }

    // MARK: - GenerationConsumer

    func generation(_ generation: any Generation, line: Span<UInt8>, fields: OllamaLine) {
        if case .pass = course {
            pass(line, fields)
        } else {
            examine(line, fields)
        }
    }

    func generationEnded(_ generation: any Generation, error: ModelError?) {
        finish(error.map { .failure($0) } ?? .success(()))
    }

    private func finish(_ end: Result<Void, ModelError>) {
        self.end = end
        change.take()?.resume()
    }

    private func pass(_ line: Span<UInt8>, _ fields: OllamaLine) {
        if fields.isDone {
            finalLine = line.withUnsafeBufferPointer { Array($0) }
        }
        reply.take(line, fields)
    }

    /// Passes a line of our own making, or one that was read before: it reads.
    private func pass(_ line: [UInt8]) {
        guard let fields = try? OllamaLine(line.span) else { return }
        pass(line.span, fields)
    }

    private func examine(_ line: Span<UInt8>, _ fields: OllamaLine) {
        switch course {
        case .pass:
            pass(line, fields)
        case .replace:
            let saysSomething =
                fields.isDone || fields.content?.range.isEmpty == false || fields.thinking?.range.isEmpty == false
                || fields.toolCalls != nil
            guard saysSomething || !held.isEmpty else { return }
            held.append(line.withUnsafeBufferPointer { Array($0) })
            change.take()?.resume()
        case .join(var joint):
            var outcome = TextJoint.Outcome.hold
            if let content = fields.content, !content.range.isEmpty {
                var text = ByteBuffer()
                text.append(decodingJSON: line.extracting(content.range))
                outcome = joint.take(text.array)
            }
            if fields.isDone, outcome == .hold {
                outcome = .goOn(joint.rest)
            }
            course = .join(joint)
            goOn(outcome, line, fields)
        }
    }

    /// Does what the joint says of a line.
    private func goOn(_ outcome: TextJoint.Outcome, _ line: Span<UInt8>, _ fields: OllamaLine) {
        let isTextOnly = fields.thinking == nil && fields.toolCalls == nil
        switch outcome {
        case .hold where isTextOnly: break
        case .repeats:
            generation?.cancel()
            hasRepeated = true
            finish(
                .failure(
                    ModelError(
                        .malformed, "The model server did not go on with the answer, but began it anew.",
                        detail: "asked to go on, it began from the start")))
        case .hold:
            passEmptied(line, fields)
        case .goOn(let text):
            course = .pass
            if !text.isEmpty {
                var said = ByteBuffer()
                OllamaAnswer(model: reply.model).append(
                    content: text.span, at: service.scheduler.timeOfDay(), to: &said)
                pass(said.array)
            }
            if fields.isDone || !isTextOnly {
                passEmptied(line, fields)
            }
        }
    }

    /// Passes what a line says besides its text.
    private func passEmptied(_ line: Span<UInt8>, _ fields: OllamaLine) {
        var rest = ByteBuffer()
        rest.append(emptyingContentOf: fields, in: line)
        pass(rest.array)
    }
}
