import ChatterdBasics
import ChatterdHTTP
import ChatterdLanguageModels

/// Reads an answer of Llama Stack's `/v1/inference/chat-completion`. Confined to its shard.
final class LlamaStackDecoder: AnswerDecoder {
    private let limits: GenerationLimits
    private let lines: AnswerLines
    private var events: EventDecoder
    private var calls = LlamaStackToolCalls()
    /// Pieces of a call have come, and it has not.
    private var hasUnfinishedCall = false
    /// Why the last call cannot be read.
    private var brokenCall: ModelError?
    /// Whether nothing has followed the last call yet.
    private var isCallOpen = false
    private var hasBegun = false
    private var isDone = false

    init(model: String, limits: GenerationLimits, now: @escaping @Sendable () -> Int64) {
        self.limits = limits
        lines = AnswerLines(model: model, now: now)
        events = EventDecoder(answerWithin: limits)
    }

    /// Never before its last event, which says all.
    var isWhole: Bool { false }

    func read(_ bytes: Span<UInt8>, _ take: (Span<UInt8>, AnswerLine) -> Bool) throws(ModelError) -> Bool {
        lines.beginRead()
        var index = 0
        var hasProgressed = false
        while !isDone, try events.nextOfAnswer(bytes, from: &index, within: limits) {
            hasProgressed = true
            hasBegun = true
            guard try read(event: events.data, take) else { return true }
        }
        hasProgressed = hasProgressed || events.isInsideEvent
        hasBegun = hasBegun || hasProgressed
        return hasProgressed
    }

    func finish(_ take: (Span<UInt8>, AnswerLine) -> Bool) throws(ModelError) {
        // The last event may lack the blank line behind it.
        _ = try read("\n\n".utf8.span, take)
        guard isDone else { throw .incomplete(hasBegun: hasBegun) }
    }

    /// Hands on what one event says; whether another one is wanted.
    private func read(
        event data: Span<UInt8>, _ take: (Span<UInt8>, AnswerLine) -> Bool
    ) throws(ModelError) -> Bool {
        // An event with a field `data` that has no value.
        guard !data.isEmpty else { return true }
        let event = try Self.event(data)
        guard event.needsRepair else { return try handOn(event, data, take) }
        var repaired = ByteBuffer()
        repaired.append(repairingJSON: data)
        let bytes = repaired.bytes
        return try handOn(try Self.event(bytes), bytes, take)
    }

    private static func event(_ data: Span<UInt8>) throws(ModelError) -> LlamaStackEvent {
        do throws(JSONError) {
            return try LlamaStackEvent(data)
        } catch {
            throw .malformed("an event of it is not a JSON object", detail: "\(error)")
        }
    }

    private func handOn(
        _ event: LlamaStackEvent, _ data: Span<UInt8>, _ take: (Span<UInt8>, AnswerLine) -> Bool
    ) throws(ModelError) -> Bool {
        guard !event.isError else { throw ModelError(llamaStackEvent: data) }
        guard !event.isForeign else { throw .malformed("it is not text alone, and a conversation holds nothing else") }
        if let call = event.call {
            try gather(call, of: data)
        }
        if let text = event.text, !text.range.isEmpty {
            isCallOpen = false
            guard lines.take(text: data.extracting(text.range), hasEscapes: text.hasEscapes, take) else { return false }
        }
        return event.isComplete ? try end(event, data, take) : true
    }

    /// Gathers a call, or a piece of one. A broken call that comes last fails the answer only at its end: the token limit may
    /// have cut it.
    private func gather(_ call: LlamaStackEvent.CallState, of data: Span<UInt8>) throws(ModelError) {
        if let brokenCall { throw brokenCall }
        isCallOpen = true
        if case .unfinished = call {
            hasUnfinishedCall = true
            return
        }
        hasUnfinishedCall = false
        guard case .whole(let range) = call else {
            brokenCall = .malformed("the model server could not read a tool call of it")
            return
        }
        do throws(JSONError) {
            try calls.append(data.extracting(range))
        } catch {
            brokenCall = .malformed("a tool call of it has no name, or arguments that are no object")
        }
        guard calls.size <= limits.answer else { throw .answerTooLarge(limits) }
    }

    /// Checks the call that came last, or drops it when the token limit has cut the answer there.
    private func endCalls(isCut: Bool) throws(ModelError) {
        guard isCut, isCallOpen else {
            guard !hasUnfinishedCall else { throw .malformed("a tool call of it is not finished") }
            if let brokenCall { throw brokenCall }
            return
        }
        if !hasUnfinishedCall, brokenCall == nil {
            calls.removeLast()
        }
    }

    private func end(
        _ event: LlamaStackEvent, _ data: Span<UInt8>, _ take: (Span<UInt8>, AnswerLine) -> Bool
    ) throws(ModelError) -> Bool {
        try endCalls(isCut: event.isCut)
        if let array = calls.array {
            let none = "".utf8.span
            guard lines.take(text: none, thinking: none, toolCalls: array.span, logprobs: none, take) else {
                return false
            }
        }
        isDone = true
        return lines.take(
            AnswerEnd(
                doneReason: event.isCut ? "length" : "stop", promptTokens: event.promptTokens,
                answerTokens: event.answerTokens),
            take)
    }
}
