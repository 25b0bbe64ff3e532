import Bytes
import LanguageModels

/// The answer to one turn, from the commit of its prompts to the commit of its text. Confined to its shard.
///
/// It gathers what the model says while it hands every line on, so that what was streamed is what is stored. It goes on without
/// a reader for the grace that the limits give.
public final class Reply: GenerationConsumer, @unchecked Sendable {
    /// Its name.
    public let id: ReplyID
    /// The turn that this reply closes.
    public let turn: Turn
    /// The model that was asked for.
    public let model: String
    /// The text so far.
    public private(set) var text = ByteBuffer()
    /// What the model thought aloud so far.
    public private(set) var thinking = ByteBuffer()
    /// The elements of the model's tool calls so far, with commas between them.
    public private(set) var toolCalls = ByteBuffer()
    /// The line with `"done":true`, once it has come.
    public private(set) var finalLine: [UInt8]?

    private enum Phase {
        /// Earlier turns of the conversation are not closed yet, or the model has not been asked.
        case waiting
        /// The model answers.
        case generating(any Generation)
        /// The model is done; the reply is being stored.
        case storing
        /// The reader has been told the end.
        case ended
    }

    private let service: ChatService
    private let request: ChatRequest
    private var history: TurnHistory?
    private var phase = Phase.waiting
    private var reader: (any ReplyReader)?
    private var cancellation: RelayError?
    private var generated: CheckedContinuation<RelayError?, Never>?
    private var pause: CheckedContinuation<Void, Never>?
    private var pauseAlarm: (any Alarm)?
    private var graceAlarm: (any Alarm)?

    init(id: ReplyID, turn: Turn, request: ChatRequest, history: TurnHistory, service: ChatService) {
        self.id = id
        self.turn = turn
        self.request = request
        self.history = history
        self.service = service
        model = request.model
    }

    /// How far it has got.
    public var position: ReplyPosition {
        ReplyPosition(text: text.count, thinking: thinking.count, toolCalls: toolCalls.count)
    }

    /// Whether the reader has been told the end.
    public var isEnded: Bool {
        if case .ended = phase { true } else { false }
    }

    // MARK: - The reader

    /// Hands the reply to a reader; there is one, from before `run`.
    public func attach(_ reader: any ReplyReader) {
        self.reader = reader
    }

    /// The reader is gone: the reply goes on for the grace, and is then cancelled.
    public func readerLeft() {
        guard reader != nil, !isEnded else { return }
        reader = nil
        resume()
        let left = RelayError(.cancelled, "The client left, and did not come back in time.")
        guard service.limits.disconnectGrace > .zero else {
            cancel(left)
            return
        }
        let alarm = service.scheduler.makeAlarm { [unowned self] in cancel(left) }
        alarm.set(after: service.limits.disconnectGrace)
        graceAlarm = alarm
    }

    /// The reader cannot take more for now.
    public func hold() {
        if case .generating(let generation) = phase {
            generation.pause()
        }
    }

    /// The reader can take more.
    public func resume() {
        if case .generating(let generation) = phase {
            generation.resume()
        }
    }

    /// Ends the reply for a reason; without effect when the model is done already.
    public func cancel(_ reason: RelayError) {
        switch phase {
        case .waiting:
            cancellation = cancellation ?? reason
            wake()
        case .generating(let generation):
            generation.cancel()
            phase = .storing
            generated.take()?.resume(returning: reason)
        case .storing, .ended:
            break
        }
    }

    /// Whether a stop of the server should cut short what the reply is waiting for.
    private var isStopping: Bool { service.isStopping }

    // MARK: - Life

    /// Drives the reply from its place in the conversation to its end; returns when nothing is left to do.
    public func run() async {
        do throws(RelayError) {
            let messages = try await waitForEarlierTurns()
            try await generate(messages)
            try await storeAnswer()
            tellEnd(nil)
        } catch {
            await keepRemains(of: error)
        }
        graceAlarm?.cancel()
        service.finished(self)
    }

    private func waitForEarlierTurns() async throws(RelayError) -> EncodedMessages {
        guard var history = history.take() else { throw RelayError(.internal, "The reply was started twice.") }
        while !history.unfinished.isEmpty {
            for number in history.unfinished {
                try await waitForEnd(of: Turn(appID: turn.appID, number: number))
            }
            // What the earlier turns said belongs to the history now. A turn that cannot be closed is not waited for again.
            let known = history.unfinished
            history = try await service.store.history(of: turn)
            history.unfinished.removeAll { known.contains($0) }
        }
        if let cancellation { throw cancellation }
        guard !history.isTooLarge else {
            throw RelayError(
                .historyTooLarge,
                "The conversation has grown too long to be sent to a model. Start it anew with /llmprep.")
        }
        return history.messages
    }

    private func waitForEnd(of earlier: Turn) async throws(RelayError) {
        let wakeUp = WakeUp(of: self)
        defer {
            wakeUp.reply = nil
            service.board.stopWaiting(turn, for: earlier)
        }
        while true {
            if let cancellation { throw cancellation }
            let isOpenHere = service.board.whenClosed(earlier, for: turn) { [scheduler = service.scheduler] in
                scheduler.run { wakeUp.reply?.wake() }
            }
            if isOpenHere {
                await pause(atMost: .seconds(30))
                continue
            }
            let isAbandoned = service.board.isAbandoned(earlier)
            do throws(RelayError) {
                if try await service.store.settleTurn(earlier, isAbandoned: isAbandoned) { return }
            } catch  where error.code == .replyNotStored {
                // Only turns of the dead are marked. The store refuses even the mark: the turn is dead all the same.
                return
            }
            await pause(atMost: service.limits.turnPoll)
        }
    }

    private func generate(_ messages: EncodedMessages) async throws(RelayError) {
        let generation = service.models.model(named: model).generate(
            GenerationRequest(model: model, messages: messages, passThrough: request.passThrough), to: self)
        phase = .generating(generation)
        let error = await withCheckedContinuation { generated = $0 }
        if let error { throw error }
        guard finalLine != nil else {
            throw RelayError(
                .internal, "The answer ended without its last line.", detail: "a model ended without a line with done")
        }
    }

    /// Asks the store once to close the turn with what there is.
    private func close(as state: ReplyState) async throws(RelayError) {
        try await service.store.closeTurn(
            turn,
            with: ClosingReply(
                id: id, journalled: ReplyPosition(), text: text.array, thinking: thinking.array,
                toolCalls: toolCalls.array, ending: ReplyEnding(state: state, lastEvent: finalLine ?? [])))
    }

    /// Stores the whole answer; hides the store's absence for as long as the limits say.
    private func storeAnswer() async throws(RelayError) {
        let start = service.scheduler.now()
        var delay = Duration.milliseconds(50)
        while true {
            do throws(RelayError) {
                return try await close(as: .complete)
            } catch  where error.code == .storeUnavailable {
                let left = service.limits.storePatience - .nanoseconds(service.scheduler.now() &- start)
                guard left > .zero, !isStopping else {
                    throw RelayError(
                        .replyNotStored, "The answer is complete, but could not be stored: the database is away.",
                        detail: error.detail)
                }
                await pause(atMost: min(delay, left))
                delay = min(delay * 2, .seconds(1))
            }
        }
    }

    /// Stores what there is of a reply that failed, and tells the reader; goes on trying while the store is away.
    private func keepRemains(of failure: RelayError) async {
        phase = .storing
        let state: ReplyState
        switch failure.code {
        case .cancelled: state = .cancelled
        case .shuttingDown: state = .interrupted
        case .conversationReplaced, .interrupted:
            // The place of the reply is gone, or taken.
            tellEnd(failure)
            return
        default: state = .failed
        }
        var delay = Duration.seconds(1)
        while true {
            do throws(RelayError) {
                try await close(as: state)
                break
            } catch {
                // What the store refuses it will refuse again: whoever comes next gives the turn up.
                guard error.code == .storeUnavailable, !isStopping else { break }
            }
            // Nobody waits any more, but the turn must not stay open for the others.
            tellEnd(failure)
            await pause(atMost: delay)
            delay = min(delay * 2, .seconds(5))
        }
        tellEnd(failure)
    }

    private func tellEnd(_ error: RelayError?) {
        phase = .ended
        guard let reader = reader.take() else { return }
        if let error {
            reader.fail(error)
        } else {
            var end = position
            end.isEnd = true
            reader.end(ReplyEnding(state: .complete, lastEvent: finalLine ?? []), at: end)
        }
    }

    // MARK: - Waiting

    private func pause(atMost duration: Duration) async {
        if pauseAlarm == nil {
            pauseAlarm = service.scheduler.makeAlarm { [unowned self] in wake() }
        }
        pauseAlarm?.set(after: duration)
        await withCheckedContinuation { pause = $0 }
        pauseAlarm?.cancel()
    }

    /// Ends a pause early; the server calls it when it stops.
    func wake() {
        pause.take()?.resume()
    }

    // MARK: - The model

    /// Gathers the line's text and hands the line on.
    public func generation(_ generation: any Generation, line: Span<UInt8>, fields: OllamaLine) {
        if let content = fields.content, !content.range.isEmpty {
            text.append(decodingJSON: line.extracting(content.range))
        }
        if let thought = fields.thinking, !thought.range.isEmpty {
            thinking.append(decodingJSON: line.extracting(thought.range))
        }
        if let calls = fields.toolCalls {
            if !toolCalls.isEmpty {
                toolCalls.append(UInt8(ascii: ","))
            }
            toolCalls.append(line.extracting((calls.lowerBound + 1)..<(calls.upperBound - 1)))
        }
        if fields.isDone {
            finalLine = line.withUnsafeBufferPointer { Array($0) }
        } else {
            _ = reader?.read(line: line, to: position)
        }
    }

    /// Goes on to storing.
    public func generationEnded(_ generation: any Generation, error: ModelError?) {
        guard case .generating = phase else { return }
        phase = .storing
        generated.take()?.resume(returning: error.map { RelayError($0) })
    }
}

/// How the board, from any thread, reaches a reply that waits. Its reply is touched on the reply's shard only.
private final class WakeUp: @unchecked Sendable {
    /// Nothing once the wait is over: the last reference to a reply must not end on another shard.
    var reply: Reply?

    init(of reply: Reply) {
        self.reply = reply
    }
}
