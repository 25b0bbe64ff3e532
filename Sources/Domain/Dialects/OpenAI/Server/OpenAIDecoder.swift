import ChatterdBasics
import ChatterdChat
import ChatterdHTTP

/// Reads an answer of an OpenAI `/chat/completions`: checks its events and delivers them as lines of Ollama's shape. Confined to its
/// shard.
final class OpenAIDecoder: AnswerDecoder {
    private let limits: GenerationLimits
    private let lines: AnswerLines
    private var template = OpenAIChunkTemplate()
    private var events: EventDecoder
    /// A body that is one JSON object, from a server that does not stream, or that reports an error; else `nil`.
    private var wholeBody: ByteBuffer?
    /// Whether the first byte that is no white space is here. It decides between an event stream and a JSON object.
    private var isDecided = false
    private var hasBegun = false
    private var calls = OpenAIToolCalls()
    private var usage = OpenAIUsage()
    private var isRefusal = false
    private var finishReason: String?
    private var stopSequence: String?
    private var isDone = false

    init(model: String, limits: GenerationLimits, now: @escaping @Sendable () -> Int64) {
        self.limits = limits
        lines = AnswerLines(model: model, now: now)
        events = EventDecoder(answerWithin: limits, readsErrorField: true)
    }

    var isWhole: Bool { finishReason != nil }

    func read(_ bytes: Span<UInt8>, _ deliver: AnswerLineHandler) throws(ModelError) -> Bool {
        lines.beginRead()
        var index = 0
        if !isDecided {
            while index < bytes.count, bytes[index] <= 0x20 { index += 1 }
            guard index < bytes.count else { return false }
            isDecided = true
            // No event stream begins with a brace.
            if bytes[index] == UInt8(ascii: "{") {
                hasBegun = true
                wholeBody = ByteBuffer()
            }
        }
        if wholeBody != nil {
            try collect(bytes.extracting(index...))
            return true
        }
        var hasProgressed = false
        while index < bytes.count {
            let start = index
            guard readTokens(bytes, from: &index, deliver) else { return true }
            hasProgressed = hasProgressed || index > start
            if try events.nextOfAnswer(bytes, from: &index, within: limits) {
                hasProgressed = true
                guard try read(event: events.data, deliver) else { return true }
            }
        }
        hasProgressed = hasProgressed || events.isInsideEvent
        hasBegun = hasBegun || hasProgressed
        return hasProgressed
    }

    /// Reads the events that differ from the ones before in their text alone. Returns whether the handler continues.
    private func readTokens(
        _ bytes: Span<UInt8>, from index: inout Int, _ deliver: AnswerLineHandler
    ) -> Bool {
        // After the first call every event is read in full, because text after a call ends the call.
        guard calls.isEmpty, events.isBetweenEvents, var line = lines.acquireTextLine() else { return true }
        let template = template
        let continues = template.read(bytes, from: &index, writing: &line, deliver)
        lines.releaseTextLine(line)
        return continues
    }

    func finish(_ deliver: AnswerLineHandler) throws(ModelError) {
        guard !isDone else { return }
        lines.beginRead()
        // An error in the cut rest does not fail an answer that is whole without it.
        do throws(ModelError) {
            try readRest(deliver)
        } catch {
            if !isWhole { throw error.code == .malformed && wholeBody == nil ? .incomplete(hasBegun: hasBegun) : error }
        }
        guard !isDone else { return }
        guard isWhole else { throw .incomplete(hasBegun: hasBegun) }
        _ = try end(deliver)
    }

    // MARK: - Bodies

    private func collect(_ bytes: Span<UInt8>) throws(ModelError) {
        wholeBody?.append(bytes)
        guard wholeBody?.count ?? 0 <= limits.answer else { throw .answerTooLarge(limits) }
    }

    /// Reads the part that the end of the body completes: a whole body, or an event without a blank line after it.
    private func readRest(_ deliver: AnswerLineHandler) throws(ModelError) {
        if let wholeBody {
            _ = try read(event: wholeBody.bytes, deliver)
            return
        }
        guard events.isInsideEvent else { return }
        let blank: [UInt8] = [0x0A, 0x0A]
        var index = 0
        if try events.nextOfAnswer(blank.span, from: &index, within: limits) {
            _ = try read(event: events.data, deliver)
        }
    }

    // MARK: - Events

    /// Reads one event. Returns whether the handler continues.
    private func read(event data: Span<UInt8>, _ deliver: AnswerLineHandler) throws(ModelError) -> Bool {
        if data.isDoneMark {
            guard isWhole else { throw .incomplete(hasBegun: hasBegun) }
            return try end(deliver)
        }
        // An event with a field `data` that has no value.
        guard !data.isEmpty else { return true }
        hasBegun = true
        // `error: {…}` instead of `data: …`, or an event of that name.
        guard events.name != "error" else { throw ModelError(inAnswer: UpstreamErrorBody(data)) }
        return try OpenAIChunk.decode(data) { chunk, data throws(ModelError) in
            template.learn(data, chunk)
            return try read(chunk, in: data, deliver)
        }
    }

    private func read(
        _ chunk: OpenAIChunk, in data: Span<UInt8>, _ deliver: AnswerLineHandler
    ) throws(ModelError) -> Bool {
        guard !chunk.isError else { throw ModelError(inAnswer: UpstreamErrorBody(data)) }
        isRefusal = isRefusal || chunk.refusal != nil
        guard try writeText(of: chunk, in: data, deliver) else { return false }
        try collectCalls(of: chunk, in: data)
        if let counts = chunk.usage { usage.merge(counts) }
        if let sequence = chunk.stopSequence {
            stopSequence = String(decodingJSON: data.extracting(sequence.range))
        }
        if let reason = chunk.finishReason {
            return try stop(String(decodingJSON: data.extracting(reason.range)), deliver)
        }
        // An event with counts alone is the last one.
        return isWhole && chunk.usage?.hasCounts == true ? try end(deliver) : true
    }

    private func writeText(
        of chunk: OpenAIChunk, in data: Span<UInt8>, _ deliver: AnswerLineHandler
    ) throws(ModelError) -> Bool {
        let text = chunk.content.flatMap { $0.range.isEmpty ? nil : $0 } ?? chunk.refusal
        guard text != nil || chunk.thinking != nil || chunk.logprobs != nil else { return true }
        if text != nil || chunk.thinking != nil { calls.endCall() }
        if chunk.thinking == nil, chunk.logprobs == nil, let text {
            return lines.write(text: data.extracting(text.range), hasEscapes: text.hasEscapes, to: deliver)
        }
        return lines.write(
            text: data.part(text?.range), thinking: data.part(chunk.thinking?.range), toolCalls: Span(),
            logprobs: data.part(chunk.logprobs), to: deliver)
    }

    private func collectCalls(of chunk: OpenAIChunk, in data: Span<UInt8>) throws(ModelError) {
        guard chunk.toolCalls != nil || chunk.functionCall != nil else { return }
        do throws(JSONError) {
            if let pieces = chunk.toolCalls { try calls.append(data.extracting(pieces)) }
            if let piece = chunk.functionCall { try calls.append(function: data.extracting(piece)) }
        } catch {
            throw .malformed("a tool call cannot be read", detail: "tool call: \(error)")
        }
        guard !calls.areTooMany else { throw .malformed("it has more than \(OpenAIToolCalls.limit) tool calls") }
        guard calls.size <= limits.answer else { throw .answerTooLarge(limits) }
    }

    // MARK: - Ends

    /// Handles the reason for which the model has stopped. Returns whether the handler continues.
    private func stop(_ reason: String, _ deliver: AnswerLineHandler) throws(ModelError) -> Bool {
        if reason == "error" || reason == "abort" {
            throw ModelError(
                .failed, "The model server broke off its answer.", detail: "finish_reason \(reason)")
        }
        finishReason = reason
        return try writeCalls(deliver)
    }

    /// Delivers the calls that were collected. Returns whether the handler continues.
    private func writeCalls(_ deliver: AnswerLineHandler) throws(ModelError) -> Bool {
        if finishReason == "length" { calls.removeCut() }
        guard !calls.isEmpty else { return true }
        var array = ByteBuffer()
        try calls.append(to: &array)
        calls = OpenAIToolCalls()
        return lines.write(text: Span(), thinking: Span(), toolCalls: array.bytes, logprobs: Span(), to: deliver)
    }

    private func end(_ deliver: AnswerLineHandler) throws(ModelError) -> Bool {
        // Some servers send the finish reason before the tool calls.
        guard try writeCalls(deliver) else { return false }
        isDone = true
        var end = AnswerEnd()
        usage.fill(&end)
        end.isRefusal = isRefusal
        switch finishReason {
        case "stop": end.stopSequence = stopSequence
        case "tool_calls", "function_call": break
        case "length": end.doneReason = "length"
        default: end.finishReason = finishReason
        }
        return lines.write(end, to: deliver)
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

    /// The bytes of a range; none for `nil`.
    @_lifetime(copy self)
    fileprivate func part(_ range: Range<Int>?) -> Span<UInt8> {
        extracting(range ?? 0..<0)
    }
}
