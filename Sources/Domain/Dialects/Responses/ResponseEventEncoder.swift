import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// Writes the events of a response.
///
/// The items come in the order of the stored answer: in each round reasoning, text and calls of tools of servers, then calls of tools of the client,
/// which wait for the end of the answer. The items of a round wait until those of the rounds before it have ended, and a call waits until the call
/// before it has. Reasoning that comes after the text of its round has begun is in no event, but in the response when it is retrieved.
struct ResponseEventEncoder: AnswerEncoder {
    static let contentType = StreamType.events

    /// What the next event of the round belongs to.
    private enum Stage {
        /// No item of the round is open.
        case start
        case reasoning
        case message
        /// The call with this index. Its item is open, or not.
        case call(Int, isOpen: Bool)
    }

    private let context: AnswerContext
    /// The number of the last event that the client has.
    private let known: Int
    /// The offset of the numbers of this attempt.
    private var offset: Int
    /// The number of the last event of the stream.
    private var last: Int
    /// What the stream has had, and the calls that wait.
    private var output = ResponseOutput()
    /// The bytes of reasoning and text so far, in UTF-8, with those that no event has.
    private var sizes = (thinking: 0, text: 0)
    /// The round whose events come next.
    private var round = 0
    private var stage = Stage.start
    /// The numbers of the events of the round.
    private var numbers: ResponseEventNumber
    /// The place of the next item, or of the open one, in the output.
    private var place = 0
    /// What events have of the part of the open item: the bytes in UTF-8, and those of the inside of the JSON string.
    private var sent = (size: 0, bytes: 0)
    /// The opening of a delta of the open item.
    private var opening: [UInt8] = []
    private let listSize: Int

    private static let numberName: StaticString = "\",\"sequence_number\":"
    private static let closing: StaticString = "}\n\n"

    init(_ context: AnswerContext) {
        self.context = context
        known = context.lastEvent ?? -1
        last = max(known, 0)
        offset = ResponseEventNumber.offset(ofAttempt: context.attempt)
        listSize = context.servers.size
        numbers = ResponseEventNumber(servers: context.servers.servers.count)
    }

    var heldSize: Int { output.size + listSize }

    mutating func begin(to buffer: inout ByteBuffer) {
        let isBackground = context.isBackground
        append(
            "response.created", ResponseEventNumber.created, response: isBackground ? .queued : .inProgress, to: &buffer
        )
        if isBackground { append("response.queued", ResponseEventNumber.queued, response: .queued, to: &buffer) }
        append("response.in_progress", ResponseEventNumber.inProgress, response: .inProgress, to: &buffer)
        for index in context.servers.servers.indices { appendList(index, to: &buffer) }
        output.hasLists = true
    }

    mutating func append(_ lines: borrowing PositionedLines, to buffer: inout ByteBuffer) {
        offset = ResponseEventNumber.offset(ofAttempt: lines.end.attempt)
        guard lines.areTokens else {
            if let parts = AnswerParts(lines.line(at: 0)) {
                append(parts, upTo: (lines.end.thinking, lines.end.text), to: &buffer)
            }
            return
        }
        for index in 0..<lines.count {
            append(text: lines.text(ofToken: index), upTo: lines.position(after: index).text, to: &buffer)
        }
    }

    /// Appends the parts of a line, which ends at these numbers of bytes.
    private mutating func append(
        _ parts: borrowing AnswerParts, upTo ends: (thinking: Int, text: Int), to buffer: inout ByteBuffer
    ) {
        if !parts.thinking.isEmpty {
            keep(thinking: parts.thinking, upTo: ends.thinking)
            advance(to: &buffer)
        }
        if !parts.text.isEmpty { append(text: parts.text, upTo: ends.text, to: &buffer) }
        output.append(toolCalls: parts.toolCallElements)
    }

    private mutating func append(text: Span<UInt8>, upTo end: Int, to buffer: inout ByteBuffer) {
        keep(text: text, upTo: end)
        if case .message = stage { appendText(to: &buffer) } else { advance(to: &buffer) }
        if output.rounds[round].shape != nil { advance(to: &buffer) }
    }

    mutating func append(_ change: StepChange, to buffer: inout ByteBuffer) {
        guard !context.servers.isEmpty else { return }
        output.take(change)
        advance(to: &buffer)
    }

    mutating func end(_ ending: ReplyEnding, at position: ReplyPosition, to buffer: inout ByteBuffer) {
        let line = ending.lastEvent.span
        if let parts = AnswerParts(line), !parts.isError {
            let ends = (sizes.thinking + parts.thinking.decodedSize, sizes.text + parts.text.decodedSize)
            append(parts, upTo: ends, to: &buffer)
        }
        let end = ResponseEnd(line, context)
        advance(at: end, to: &buffer)
        appendCalls(to: &buffer)
        append(end.event, ResponseEventNumber.end, response: end, to: &buffer)
        buffer.append("data: [DONE]\n\n")
    }

    /// Appends an error without an end: the response itself continues. It has the number of the event before it, so that a client which
    /// continues there misses nothing.
    mutating func fail(_ error: RelayError, at nanoseconds: Int64, to buffer: inout ByteBuffer) {
        buffer.append("event: error\ndata: {\"type\":\"error\",\"sequence_number\":")
        buffer.append(decimal: last)
        buffer.append(",\"error\":")
        OpenAIDoor().append(errorOf: DoorFault(error), to: &buffer)
        buffer.append("}\n\n")
    }

    func keepAlive(to buffer: inout ByteBuffer) {
        buffer.append(": keep-alive\n\n")
    }

    // MARK: - Parts of rounds

    /// Keeps a piece of the text for its rounds. Only a piece of a stored page may belong to several.
    private mutating func keep(text: Span<UInt8>, upTo end: Int) {
        defer { sizes.text = end }
        var (index, start) = (round, sizes.text)
        while let shape = output.rounds[index].shape, shape.textEnd < end {
            index += 1
            guard shape.textEnd > start else { continue }
            let (bytes, first) = (text.decoded, start - sizes.text)
            let piece = ByteBuffer(insideOf: bytes.span.extracting(first..<(shape.textEnd - sizes.text)))
            output.append(text: piece.bytes, count: shape.textEnd - start, toRound: index - 1)
            start = shape.textEnd
        }
        guard start > sizes.text else {
            output.append(text: text, count: end - start, toRound: index)
            return
        }
        let rest = ByteBuffer(insideOf: text.decoded.span.extracting(droppingFirst: start - sizes.text))
        output.append(text: rest.bytes, count: end - start, toRound: index)
    }

    /// Keeps a piece of the reasoning for its rounds.
    private mutating func keep(thinking: Span<UInt8>, upTo end: Int) {
        defer { sizes.thinking = end }
        var (index, start) = (round, sizes.thinking)
        while let shape = output.rounds[index].shape, shape.thinkingEnd < end {
            index += 1
            guard shape.thinkingEnd > start else { continue }
            let (bytes, first) = (thinking.decoded, start - sizes.thinking)
            keep(bytes.span.extracting(first..<(shape.thinkingEnd - sizes.thinking)), inRound: index - 1)
            start = shape.thinkingEnd
        }
        // Later reasoning than the text of its round.
        guard output.rounds[index].shape != nil || output.rounds[index].text.isEmpty else { return }
        if start == sizes.thinking, output.rounds[index].sizes.thinking + end - start <= numbers.maximumReasoning {
            output.append(thinking: thinking, count: end - start, toRound: index)
        } else {
            keep(thinking.decoded.span.extracting(droppingFirst: start - sizes.thinking), inRound: index)
        }
    }

    /// Keeps reasoning in UTF-8 for a round, as far as there are numbers for it.
    private mutating func keep(_ thinking: Span<UInt8>, inRound index: Int) {
        var count = min(thinking.count, numbers.maximumReasoning - output.rounds[index].sizes.thinking)
        while count > 0, count < thinking.count, thinking[count] & 0xC0 == 0x80 { count -= 1 }
        guard count > 0 else { return }
        let piece = ByteBuffer(insideOf: thinking.extracting(first: count))
        output.append(thinking: piece.bytes, count: count, toRound: index)
    }

    /// Whether the stream has all reasoning, or all text, of the round whose events come next.
    private func hasAll(_ part: KeyPath<StepRound, Int>, _ size: Int, _ end: ResponseEnd?) -> Bool {
        if end != nil { return true }
        return output.rounds[round].shape.map { size >= $0[keyPath: part] } ?? false
    }

    /// Appends the events that can follow.
    ///
    /// - Parameter end: how the response has ended; `nil` if it has not.
    private mutating func advance(at end: ResponseEnd? = nil, to buffer: inout ByteBuffer) {
        while true {
            let hasAllThinking = hasAll(\.thinkingEnd, sizes.thinking, end)
            let hasAllText = hasAll(\.textEnd, sizes.text, end)
            let isLast = output.rounds[round].shape == nil
            switch stage {
            case .start:
                if !output.rounds[round].thinking.isEmpty {
                    beginReasoning(in: &buffer)
                } else if isLast || hasAllThinking, !output.rounds[round].text.isEmpty {
                    beginMessage(in: &buffer)
                } else if hasAllThinking, hasAllText {
                    stage = .call(0, isOpen: false)
                } else {
                    return
                }
            case .reasoning:
                appendReasoning(to: &buffer)
                guard hasAllThinking && hasAllText || (isLast || hasAllThinking) && !output.rounds[round].text.isEmpty
                else { return }
                endReasoning(in: &buffer)
                if output.rounds[round].text.isEmpty {
                    stage = .call(0, isOpen: false)
                } else {
                    beginMessage(in: &buffer)
                }
            case .message:
                appendText(to: &buffer)
                guard hasAllText else { return }
                endMessage(in: &buffer, status: isLast ? end?.messageStatus ?? "completed" : "completed")
                stage = .call(0, isOpen: false)
            case .call(let index, let isOpen):
                guard index < output.rounds[round].calls.count else {
                    guard !isLast else { return }
                    beginNextRound()
                    continue
                }
                guard let call = output.rounds[round].calls[index] else { return }
                guard let origin = call.origin else {
                    stage = .call(index + 1, isOpen: false)
                    continue
                }
                if !isOpen { begin(call, origin, at: index, in: &buffer) }
                guard call.state.isEnd || end != nil else {
                    stage = .call(index, isOpen: true)
                    return
                }
                self.end(call, origin, at: index, in: &buffer)
                stage = .call(index + 1, isOpen: false)
            }
        }
    }

    private mutating func beginNextRound() {
        numbers.endRound(text: textSize, calls: output.rounds[round].calls.count)
        round += 1
        stage = .start
    }

    /// The bytes of the text of the round in UTF-8.
    private var textSize: Int { output.rounds[round].sizes.text }

    // MARK: - Items

    private mutating func appendReasoning(to buffer: inout ByteBuffer) {
        let (text, size) = (output.rounds[round].thinking, output.rounds[round].sizes.thinking)
        guard size > sent.size else { return }
        append(
            delta: text.bytes.extracting(droppingFirst: sent.bytes), from: numbers.reasoning(to: sent.size),
            to: numbers.reasoning(to: size), in: &buffer)
        sent = (size, text.count)
    }

    private mutating func appendText(to buffer: inout ByteBuffer) {
        let (text, size) = (output.rounds[round].text, output.rounds[round].sizes.text)
        guard size > sent.size else { return }
        append(
            delta: text.bytes.extracting(droppingFirst: sent.bytes), from: numbers.text(to: sent.size),
            to: numbers.text(to: size), in: &buffer)
        sent = (size, text.count)
    }

    /// Appends a delta between two numbers, or the part of it that the client does not have.
    private mutating func append(
        delta text: Span<UInt8>, from start: Int, to number: Int, in buffer: inout ByteBuffer
    ) {
        let number = number + offset
        guard number > known else { return }
        buffer.append(opening)
        if known > start + offset {
            buffer.append(text, withoutFirst: known - start - offset)
        } else {
            buffer.append(text)
        }
        buffer.append(Self.numberName)
        buffer.append(decimal: number)
        buffer.append(Self.closing)
        last = number
    }

    /// Appends the events of the list of the tools of a server.
    private mutating func appendList(_ index: Int, to buffer: inout ByteBuffer) {
        let number = ResponseEventNumber.list(index)
        append("response.output_item.added", number, item: index, to: &buffer) { [context] in
            ResponseOutput.append(list: index, context, hasTools: false, to: &$0)
        }
        append("response.mcp_list_tools.in_progress", number + 1, of: .list(index), to: &buffer)
        append("response.mcp_list_tools.completed", number + 2, of: .list(index), to: &buffer)
        append("response.output_item.done", number + 3, item: index, to: &buffer) { [context] in
            ResponseOutput.append(list: index, context, hasTools: true, to: &$0)
        }
        place += 1
    }

    private mutating func beginReasoning(in buffer: inout ByteBuffer) {
        (stage, sent) = (.reasoning, (0, 0))
        append("response.output_item.added", numbers.reasoningAdded, item: place, to: &buffer) { [context, round] in
            ResponseOutput.append(reasoning: Span(), in: round, context, to: &$0)
        }
        append(
            "response.content_part.added", numbers.reasoningPartAdded, partOf: .reasoning(round), to: &buffer
        ) {
            $0.append(",\"part\":")
            ResponseOutput.append(reasoningPart: Span(), to: &$0)
        }
        opening = openingOfDelta("response.reasoning.delta", of: .reasoning(round))
    }

    private mutating func endReasoning(in buffer: inout ByteBuffer) {
        let text = output.rounds[round].thinking
        let number = numbers.reasoningDone
        append("response.reasoning.done", number, partOf: .reasoning(round), to: &buffer) {
            $0.append(",\"text\":")
            $0.append(inside: text.bytes)
        }
        append("response.content_part.done", number + 1, partOf: .reasoning(round), to: &buffer) {
            $0.append(",\"part\":")
            ResponseOutput.append(reasoningPart: text.bytes, to: &$0)
        }
        append("response.output_item.done", number + 2, item: place, to: &buffer) { [context, round] in
            ResponseOutput.append(reasoning: text.bytes, in: round, context, to: &$0)
        }
        place += 1
    }

    private mutating func beginMessage(in buffer: inout ByteBuffer) {
        (stage, sent) = (.message, (0, 0))
        append("response.output_item.added", numbers.messageAdded, item: place, to: &buffer) { [context, round] in
            ResponseOutput.append(message: Span(), in: round, context, status: "in_progress", to: &$0)
        }
        append("response.content_part.added", numbers.textPartAdded, partOf: .message(round), to: &buffer) {
            $0.append(",\"part\":")
            ResponseOutput.append(textPart: Span(), to: &$0)
        }
        opening = openingOfDelta("response.output_text.delta", of: .message(round))
    }

    private mutating func endMessage(in buffer: inout ByteBuffer, status: StaticString) {
        let text = output.rounds[round].text
        let number = numbers.textDone(after: output.rounds[round].shape == nil ? nil : textSize)
        append("response.output_text.done", number, partOf: .message(round), to: &buffer) {
            $0.append(",\"logprobs\":[],\"text\":")
            $0.append(inside: text.bytes)
        }
        append("response.content_part.done", number + 1, partOf: .message(round), to: &buffer) {
            $0.append(",\"part\":")
            ResponseOutput.append(textPart: text.bytes, to: &$0)
        }
        append("response.output_item.done", number + 2, item: place, to: &buffer) { [context, round] in
            ResponseOutput.append(message: text.bytes, in: round, context, status: status, to: &$0)
        }
        place += 1
    }

    /// Appends the events at the beginning of a call of a tool of a server.
    private mutating func begin(
        _ call: AnswerSteps.Call, _ origin: ToolOrigin, at index: Int, in buffer: inout ByteBuffer
    ) {
        let number = numbers.serverCall(index, after: textSize)
        let item = ResponseOutput.Item.serverCall(StepPlace(round: round, index: index))
        append("response.output_item.added", number, item: place, to: &buffer) { [context, round] in
            ResponseOutput.append(
                call, origin, at: StepPlace(round: round, index: index), context, hasEnded: false, hasBegun: false,
                to: &$0)
        }
        append("response.mcp_call.in_progress", number + 1, of: item, to: &buffer)
        append("response.mcp_call_arguments.delta", number + 2, of: item, to: &buffer) {
            $0.append(",\"delta\":")
            $0.append(jsonString: call.arguments.span)
        }
        append("response.mcp_call_arguments.done", number + 3, of: item, to: &buffer) {
            $0.append(",\"arguments\":")
            $0.append(jsonString: call.arguments.span)
        }
    }

    /// Appends the events at the end of a call of a tool of a server.
    private mutating func end(
        _ call: AnswerSteps.Call, _ origin: ToolOrigin, at index: Int, in buffer: inout ByteBuffer
    ) {
        let number = numbers.serverCall(index, after: textSize)
        let item = ResponseOutput.Item.serverCall(StepPlace(round: round, index: index))
        append(
            call.state == .done ? "response.mcp_call.completed" : "response.mcp_call.failed", number + 4, of: item,
            to: &buffer)
        append("response.output_item.done", number + 5, item: place, to: &buffer) { [context, round] in
            ResponseOutput.append(
                call, origin, at: StepPlace(round: round, index: index), context, hasEnded: true, to: &$0)
        }
        place += 1
    }

    /// Appends the events of all calls of tools of the client, each with all of its arguments.
    private mutating func appendCalls(to buffer: inout ByteBuffer) {
        var number = ResponseEventNumber.call(0)
        var index = 0
        let context = context
        let tools = output.toolCalls.isEmpty ? ToolTable() : context.tools
        output.forEachCall { call in
            defer {
                number += 4
                index += 1
                place += 1
            }
            if let origin = context.servers.asked(call) {
                for (name, number) in [
                    ("response.output_item.added" as StaticString, number), ("response.output_item.done", number + 3),
                ] {
                    append(name, number, item: place, to: &buffer) {
                        ResponseOutput.append(call, origin, at: index, context, to: &$0)
                    }
                }
                return
            }
            let tool = tools.tool(of: call)
            let isCustom = tool?.isCustom ?? false
            let item = ResponseOutput.Item.call(index, isCustom: isCustom)
            append("response.output_item.added", number, item: place, to: &buffer) {
                ResponseOutput.append(
                    call, of: tool, at: index, context, status: "in_progress", hasArguments: false, to: &$0)
            }
            if isCustom {
                append("response.custom_tool_call_input.delta", number + 1, of: item, to: &buffer) {
                    $0.append(",\"delta\":")
                    $0.append(customInputOf: call)
                }
                append("response.custom_tool_call_input.done", number + 2, of: item, to: &buffer) {
                    $0.append(",\"input\":")
                    $0.append(customInputOf: call)
                }
            } else {
                append("response.function_call_arguments.delta", number + 1, of: item, to: &buffer) {
                    $0.append(",\"delta\":")
                    $0.append(argumentsOf: call)
                }
                append("response.function_call_arguments.done", number + 2, of: item, to: &buffer) {
                    $0.append(nameOf: call, tool)
                    $0.append(",\"arguments\":")
                    $0.append(argumentsOf: call)
                }
            }
            append("response.output_item.done", number + 3, item: place, to: &buffer) {
                ResponseOutput.append(call, of: tool, at: index, context, status: "completed", to: &$0)
            }
        }
    }

    // MARK: - Events

    /// Appends an event unless the client has it; `body` appends further members.
    private mutating func append(
        _ name: StaticString, _ number: Int, to buffer: inout ByteBuffer, _ body: (inout ByteBuffer) -> Void
    ) {
        let number = number + (number > ResponseEventNumber.inProgress ? offset : 0)
        guard number > known else { return }
        buffer.append("event: ")
        buffer.append(name)
        buffer.append("\ndata: {\"type\":\"")
        buffer.append(name)
        buffer.append(Self.numberName)
        buffer.append(decimal: number)
        body(&buffer)
        buffer.append(Self.closing)
        last = number
    }

    /// Appends an event with the response.
    private mutating func append(
        _ name: StaticString, _ number: Int, response end: ResponseEnd, to buffer: inout ByteBuffer
    ) {
        let output = output
        append(name, number, to: &buffer) { [context] buffer in
            buffer.append(",\"response\":")
            ResponseDocument(context).append(output, as: end, to: &buffer)
        }
    }

    /// Appends an event with an item.
    private mutating func append(
        _ name: StaticString, _ number: Int, item index: Int, to buffer: inout ByteBuffer,
        _ body: (inout ByteBuffer) -> Void
    ) {
        append(name, number, to: &buffer) { buffer in
            buffer.append(",\"output_index\":")
            buffer.append(decimal: index)
            buffer.append(",\"item\":")
            body(&buffer)
        }
    }

    /// Appends an event of the only part of the open item.
    private mutating func append(
        _ name: StaticString, _ number: Int, partOf item: ResponseOutput.Item, to buffer: inout ByteBuffer,
        _ body: (inout ByteBuffer) -> Void
    ) {
        append(name, number, of: item, to: &buffer) { buffer in
            buffer.append(",\"content_index\":0")
            body(&buffer)
        }
    }

    /// Appends an event of the open item.
    private mutating func append(
        _ name: StaticString, _ number: Int, of item: ResponseOutput.Item, to buffer: inout ByteBuffer,
        _ body: (inout ByteBuffer) -> Void = { _ in }
    ) {
        append(name, number, to: &buffer) { [context, place] buffer in
            buffer.append(",\"item_id\":")
            ResponseOutput.append(idOf: item, context, to: &buffer)
            buffer.append(",\"output_index\":")
            buffer.append(decimal: place)
            body(&buffer)
        }
    }

    /// A delta up to its text. The number follows the text, so that this is the same for all deltas.
    private func openingOfDelta(_ name: StaticString, of item: ResponseOutput.Item) -> [UInt8] {
        var buffer = ByteBuffer()
        buffer.append("event: ")
        buffer.append(name)
        buffer.append("\ndata: {\"type\":\"")
        buffer.append(name)
        buffer.append("\",\"item_id\":")
        ResponseOutput.append(idOf: item, context, to: &buffer)
        buffer.append(",\"output_index\":")
        buffer.append(decimal: place)
        buffer.append(",\"content_index\":0,")
        if case .message = item { buffer.append("\"logprobs\":[],") }
        buffer.append("\"delta\":\"")
        return buffer.array
    }
}

extension AnswerContext {
    /// Whether the request was made in the background.
    fileprivate var isBackground: Bool {
        guard let kept else { return false }
        var isBackground = false
        JSONMembers.forEach(of: kept.span) { reader, key, value in
            if reader.matches(key, "background") { isBackground = kept[value.lowerBound] == UInt8(ascii: "t") }
        }
        return isBackground
    }
}

extension Span<UInt8> {
    /// The size of the text in UTF-8, if the bytes are the inside of a JSON string.
    fileprivate var decodedSize: Int { decoded.count }

    /// The text in UTF-8, if the bytes are the inside of a JSON string.
    fileprivate var decoded: [UInt8] {
        var text = ByteBuffer()
        text.append(decodingJSON: self)
        return text.array
    }
}

extension ByteBuffer {
    /// Appends the inside of a JSON string without the first bytes of its text. A number that a client has invented may cut a
    /// character, which is left out.
    fileprivate mutating func append(_ inside: Span<UInt8>, withoutFirst count: Int) {
        var text = ByteBuffer()
        text.append(decodingJSON: inside)
        let bytes = text.bytes
        var start = min(count, bytes.count)
        while start < bytes.count, bytes[start] & 0xC0 == 0x80 { start += 1 }
        var string = ByteBuffer()
        string.append(jsonString: bytes.extracting(start...))
        append(string.bytes.extracting(1..<(string.count - 1)))
    }
}
