import ChatterdBasics
import ChatterdChat
import ChatterdHTTP

/// Reads an answer of Llama Stack's `/v1/inference/chat-completion`. Confined to its shard.
final class LlamaStackDecoder: AnswerDecoder {
    private let limits: GenerationLimits
    private let lines: AnswerLines
    private var events: EventDecoder
    private var calls = LlamaStackToolCalls()
    /// Whether pieces of a call have come, but not the whole call.
    private var hasUnfinishedCall = false
    /// The error of the last call, if it cannot be read.
    private var brokenCall: ModelError?
    /// Whether the last call is also the last part of the answer so far.
    private var isCallOpen = false
    private var hasBegun = false
    private var isDone = false

    init(model: String, limits: GenerationLimits, now: @escaping @Sendable () -> Int64) {
        self.limits = limits
        lines = AnswerLines(model: model, now: now)
        events = EventDecoder(answerWithin: limits)
    }

    /// The last event is the end of the answer and has its counts.
    var isWhole: Bool { false }

    func read(_ bytes: Span<UInt8>, _ deliver: AnswerLineHandler) throws(ModelError) -> Bool {
        lines.beginRead()
        var index = 0
        var hasProgressed = false
        while !isDone, try events.nextOfAnswer(bytes, from: &index, within: limits) {
            hasProgressed = true
            hasBegun = true
            guard try read(event: events.data, deliver) else { return true }
        }
        hasProgressed = hasProgressed || events.isInsideEvent
        hasBegun = hasBegun || hasProgressed
        return hasProgressed
    }

    func finish(_ deliver: AnswerLineHandler) throws(ModelError) {
        // The last event may lack the blank line after it.
        _ = try read("\n\n".utf8.span, deliver)
        guard isDone else { throw .incomplete(hasBegun: hasBegun) }
    }

    /// Reads one event. Returns whether the handler continues.
    private func read(event data: Span<UInt8>, _ deliver: AnswerLineHandler) throws(ModelError) -> Bool {
        // An event with a field `data` that has no value.
        guard !data.isEmpty else { return true }
        return try LlamaStackEvent.decode(data) { event, data throws(ModelError) in try read(event, data, deliver) }
    }

    private func read(
        _ event: LlamaStackEvent, _ data: Span<UInt8>, _ deliver: AnswerLineHandler
    ) throws(ModelError) -> Bool {
        guard !event.isError else { throw ModelError(llamaStackEvent: data) }
        guard !event.isForeign else { throw .malformed("it has parts other than text") }
        if let call = event.call {
            try collect(call, of: data)
        }
        if let text = event.text, !text.range.isEmpty {
            isCallOpen = false
            guard lines.write(text: data.extracting(text.range), hasEscapes: text.hasEscapes, to: deliver) else {
                return false
            }
        }
        return event.isComplete ? try end(event, data, deliver) : true
    }

    /// Collects a call, or a piece of one. A broken call that comes last fails the answer only at its end, because the token limit
    /// may have cut it.
    private func collect(_ call: LlamaStackEvent.CallState, of data: Span<UInt8>) throws(ModelError) {
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
            brokenCall = .malformed("a tool call has no name, or its arguments are not an object")
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
        _ event: LlamaStackEvent, _ data: Span<UInt8>, _ deliver: AnswerLineHandler
    ) throws(ModelError) -> Bool {
        try endCalls(isCut: event.isCut)
        if let array = calls.array {
            let none = "".utf8.span
            guard lines.write(text: none, thinking: none, toolCalls: array.span, logprobs: none, to: deliver) else {
                return false
            }
        }
        isDone = true
        return lines.write(
            AnswerEnd(
                doneReason: event.isCut ? "length" : "stop", promptTokens: event.promptTokens,
                answerTokens: event.answerTokens),
            to: deliver)
    }
}
