import ChatterdBasics
import ChatterdHTTP
import ChatterdLanguageModels

/// Reads an answer of an OpenAI `/chat/completions`: its events, checked, and said in lines of Ollama's shape.
/// Confined to its shard.
final class OpenAIDecoder: AnswerDecoder {
    private let limits: GenerationLimits
    private let lines: AnswerLines
    private var template = OpenAIChunkTemplate()
    private var events: EventDecoder
    /// A body that is one JSON object: from servers that do not stream, or that complain.
    private var whole: ByteBuffer?
    private var hasBegun = false
    private var calls = OpenAIToolCalls()
    private var usage = OpenAIUsage()
    private var isRefusal = false
    private var finishReason: String?
    private var isDone = false

    init(model: String, limits: GenerationLimits, now: @escaping @Sendable () -> Int64) {
        self.limits = limits
        lines = AnswerLines(model: model, now: now)
        events = EventDecoder(answerWithin: limits, readsErrorField: true)
    }

    var isWhole: Bool { finishReason != nil }

    func read(_ bytes: Span<UInt8>, _ take: (Span<UInt8>, AnswerLine) -> Bool) throws(ModelError) -> Bool {
        lines.beginRead()
        if !hasBegun, isWholeBody(bytes) {
            hasBegun = true
            whole = ByteBuffer()
        }
        if whole != nil {
            try gather(bytes)
            return true
        }
        var index = 0
        var hasProgressed = false
        while index < bytes.count {
            let start = index
            guard readTokens(bytes, from: &index, take) else { return true }
            hasProgressed = hasProgressed || index > start
            if try events.nextOfAnswer(bytes, from: &index, within: limits) {
                hasProgressed = true
                guard try read(event: events.data, take) else { return true }
            }
        }
        hasProgressed = hasProgressed || events.isInsideEvent
        hasBegun = hasBegun || hasProgressed
        return hasProgressed
    }

    /// Reads the events that differ from those before in their text alone; whether another line is wanted.
    private func readTokens(
        _ bytes: Span<UInt8>, from index: inout Int, _ take: (Span<UInt8>, AnswerLine) -> Bool
    ) -> Bool {
        // Once there are calls every event is read in full: text behind a call ends it.
        guard calls.isEmpty, events.isBetweenEvents, var line = lines.openTextLine() else { return true }
        let template = template
        let goesOn = template.read(bytes, from: &index, writing: &line, take)
        lines.giveBack(line)
        return goesOn
    }

    func finish(_ take: (Span<UInt8>, AnswerLine) -> Bool) throws(ModelError) {
        guard !isDone else { return }
        lines.beginRead()
        // What was cut says less than what stands there whole.
        do throws(ModelError) {
            try readRest(take)
        } catch {
            if !isWhole { throw error.code == .malformed && whole == nil ? .incomplete(hasBegun: hasBegun) : error }
        }
        guard !isDone else { return }
        guard isWhole else { throw .incomplete(hasBegun: hasBegun) }
        _ = try end(take)
    }

    // MARK: - Bodies

    /// Whether a body that begins so is JSON: no event begins like that.
    private func isWholeBody(_ bytes: Span<UInt8>) -> Bool {
        guard events.isBetweenEvents else { return false }
        var index = 0
        while index < bytes.count, bytes[index] <= 0x20 { index += 1 }
        return index < bytes.count && bytes[index] == UInt8(ascii: "{")
    }

    private func gather(_ bytes: Span<UInt8>) throws(ModelError) {
        whole?.append(bytes)
        guard whole?.count ?? 0 <= limits.answer else { throw .answerTooLarge(limits) }
    }

    /// Reads what its end alone has made complete: a whole body, or an event without a blank line behind it.
    private func readRest(_ take: (Span<UInt8>, AnswerLine) -> Bool) throws(ModelError) {
        if let whole {
            _ = try read(event: whole.bytes, take)
            return
        }
        guard events.isInsideEvent else { return }
        let blank: [UInt8] = [0x0A, 0x0A]
        var index = 0
        if try events.nextOfAnswer(blank.span, from: &index, within: limits) {
            _ = try read(event: events.data, take)
        }
    }

    // MARK: - Events

    /// Reads one event; whether another one is wanted.
    private func read(
        event data: Span<UInt8>, _ take: (Span<UInt8>, AnswerLine) -> Bool
    ) throws(ModelError) -> Bool {
        if data.isDoneMark {
            guard isWhole else { throw .incomplete(hasBegun: hasBegun) }
            return try end(take)
        }
        // An event with a field `data` that has no value.
        guard !data.isEmpty else { return true }
        hasBegun = true
        // `error: {…}` instead of `data: …`, or an event of that name.
        guard events.name != "error" else { throw ModelError(inAnswer: UpstreamErrorBody(data)) }
        let chunk = try Self.chunk(data)
        guard chunk.needsRepair else {
            template.learn(data, chunk)
            return try read(chunk, in: data, take)
        }
        var repaired = ByteBuffer()
        repaired.append(repairingJSON: data)
        return try read(try Self.chunk(repaired.bytes), in: repaired.bytes, take)
    }

    private static func chunk(_ data: Span<UInt8>) throws(ModelError) -> OpenAIChunk {
        do throws(JSONError) {
            return try OpenAIChunk(data)
        } catch {
            throw .malformed("an event of it is not a JSON object", detail: "\(error)")
        }
    }

    private func read(
        _ chunk: OpenAIChunk, in data: Span<UInt8>, _ take: (Span<UInt8>, AnswerLine) -> Bool
    ) throws(ModelError) -> Bool {
        guard !chunk.isError else { throw ModelError(inAnswer: UpstreamErrorBody(data)) }
        isRefusal = isRefusal || chunk.refusal != nil
        guard try takeText(of: chunk, in: data, take) else { return false }
        try gatherCalls(of: chunk, in: data)
        if let counts = chunk.usage { usage.merge(counts) }
        if let reason = chunk.finishReason {
            let text = String(decodingJSON: data.extracting(reason.range))
            return try finished(text, take)
        }
        // Counts that come by themselves come last.
        return isWhole && chunk.usage?.hasCounts == true ? try end(take) : true
    }

    private func takeText(
        of chunk: OpenAIChunk, in data: Span<UInt8>, _ take: (Span<UInt8>, AnswerLine) -> Bool
    ) throws(ModelError) -> Bool {
        let text = chunk.content.flatMap { $0.range.isEmpty ? nil : $0 } ?? chunk.refusal
        guard text != nil || chunk.thinking != nil || chunk.logprobs != nil else { return true }
        if text != nil || chunk.thinking != nil { calls.endCall() }
        if chunk.thinking == nil, chunk.logprobs == nil, let text {
            return lines.take(text: data.extracting(text.range), hasEscapes: text.hasEscapes, take)
        }
        return lines.take(
            text: data.part(text?.range), thinking: data.part(chunk.thinking?.range), toolCalls: Span(),
            logprobs: data.part(chunk.logprobs), take)
    }

    private func gatherCalls(of chunk: OpenAIChunk, in data: Span<UInt8>) throws(ModelError) {
        guard chunk.toolCalls != nil || chunk.functionCall != nil else { return }
        do throws(JSONError) {
            if let pieces = chunk.toolCalls { try calls.read(data.extracting(pieces)) }
            if let piece = chunk.functionCall { try calls.read(function: data.extracting(piece)) }
        } catch {
            throw .malformed("a tool call cannot be read", detail: "tool call: \(error)")
        }
        guard !calls.areTooMany else { throw .malformed("it has more than \(OpenAIToolCalls.limit) tool calls") }
        guard calls.size <= limits.answer else { throw .answerTooLarge(limits) }
    }

    // MARK: - Ends

    /// The model has stopped; whether more may be said about it.
    private func finished(_ reason: String, _ take: (Span<UInt8>, AnswerLine) -> Bool) throws(ModelError) -> Bool {
        if reason == "error" || reason == "abort" {
            throw ModelError(
                .failed, "The model server broke off its answer.", detail: "finish_reason \(reason)")
        }
        finishReason = reason
        return try tellCalls(take)
    }

    /// Tells the calls that were gathered; whether another line is wanted.
    private func tellCalls(_ take: (Span<UInt8>, AnswerLine) -> Bool) throws(ModelError) -> Bool {
        if finishReason == "length" { calls.removeCut() }
        guard !calls.isEmpty else { return true }
        var array = ByteBuffer()
        try calls.append(to: &array)
        calls = OpenAIToolCalls()
        return lines.take(text: Span(), thinking: Span(), toolCalls: array.bytes, logprobs: Span(), take)
    }

    private func end(_ take: (Span<UInt8>, AnswerLine) -> Bool) throws(ModelError) -> Bool {
        // Some servers say why they stopped before they say what they call.
        guard try tellCalls(take) else { return false }
        isDone = true
        var end = AnswerEnd()
        usage.fill(&end)
        end.isRefusal = isRefusal
        switch finishReason {
        case "stop", "tool_calls", "function_call": break
        case "length": end.doneReason = "length"
        default: end.finishReason = finishReason
        }
        return lines.take(end, take)
    }
}

extension Span<UInt8> {
    /// Whether the data of an event is `[DONE]`.
    fileprivate var isDoneMark: Bool {
        let mark: StaticString = "[DONE]"
        return mark.utf8CodeUnitCount...mark.utf8CodeUnitCount + 2 ~= count
            && withUnsafeBufferPointer { bytes in
                bytes.starts(with: UnsafeBufferPointer(start: mark.utf8Start, count: mark.utf8CodeUnitCount))
            }
    }

    /// A part of the bytes; empty for none.
    @_lifetime(copy self)
    fileprivate func part(_ range: Range<Int>?) -> Span<UInt8> {
        extracting(range ?? 0..<0)
    }
}
