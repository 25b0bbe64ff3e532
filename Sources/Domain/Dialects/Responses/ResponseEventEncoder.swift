import ChatterdBasics
import ChatterdRelay

/// Writes the events of a response.
///
/// The items come in the order of the stored answer: reasoning, text, calls. Calls wait for the end of the answer. Reasoning that comes after
/// the text has begun is in no event, but in the response when it is retrieved.
struct ResponseEventEncoder: AnswerEncoder {
    static let contentType = StreamType.events

    /// The item that is open.
    private enum Item {
        case none
        case reasoning
        case message
    }

    private let context: AnswerContext
    /// The number of the last event that the client has.
    private let known: Int
    /// The offset of the numbers of this attempt.
    private var offset: Int
    /// The number of the last event of the stream.
    private var last: Int
    private var item = Item.none
    /// What the stream has had, and the calls that wait.
    private var output = ResponseOutput()
    /// The bytes of reasoning and text so far, in UTF-8.
    private var sizes = (thinking: 0, text: 0)
    /// The opening of a delta of the open item.
    private var opening: [UInt8] = []

    private static let numberName: StaticString = "\",\"sequence_number\":"
    private static let closing: StaticString = "}\n\n"

    init(_ context: AnswerContext) {
        self.context = context
        known = context.lastEvent ?? -1
        last = max(known, 0)
        offset = ResponseEventNumber.offset(ofAttempt: context.attempt)
    }

    var heldSize: Int { output.size }

    mutating func begin(to buffer: inout ByteBuffer) {
        let isBackground = context.isBackground
        append(
            "response.created", ResponseEventNumber.created, response: isBackground ? .queued : .inProgress, to: &buffer
        )
        if isBackground { append("response.queued", ResponseEventNumber.queued, response: .queued, to: &buffer) }
        append("response.in_progress", ResponseEventNumber.inProgress, response: .inProgress, to: &buffer)
    }

    mutating func append(_ lines: borrowing PositionedLines, to buffer: inout ByteBuffer) {
        offset = ResponseEventNumber.offset(ofAttempt: lines.end.attempt)
        guard lines.areTokens else {
            if let parts = AnswerParts(lines.line(at: 0)) {
                append(parts, upTo: (lines.end.thinking, lines.end.text), to: &buffer)
            }
            return
        }
        change(to: .message, in: &buffer)
        for index in 0..<lines.count {
            append(text: lines.text(ofToken: index), upTo: lines.position(after: index).text, to: &buffer)
        }
    }

    /// Appends the parts of a line, which ends at these numbers of bytes.
    private mutating func append(
        _ parts: borrowing AnswerParts, upTo ends: (thinking: Int, text: Int), to buffer: inout ByteBuffer
    ) {
        if !parts.thinking.isEmpty, output.text.isEmpty {
            change(to: .reasoning, in: &buffer)
            output.thinking.append(parts.thinking)
            let number = ResponseEventNumber.reasoning(to: ends.thinking)
            append(
                delta: parts.thinking, from: ResponseEventNumber.reasoning(to: sizes.thinking), to: number, in: &buffer)
            sizes.thinking = ends.thinking
        }
        if !parts.text.isEmpty {
            change(to: .message, in: &buffer)
            append(text: parts.text, upTo: ends.text, to: &buffer)
        }
        let calls = parts.toolCallElements
        guard !calls.isEmpty else { return }
        if !output.toolCalls.isEmpty { output.toolCalls.append(",") }
        output.toolCalls.append(calls)
    }

    private mutating func append(text: Span<UInt8>, upTo end: Int, to buffer: inout ByteBuffer) {
        output.text.append(text)
        let start = ResponseEventNumber.text(to: sizes.text)
        append(delta: text, from: start, to: ResponseEventNumber.text(to: end), in: &buffer)
        sizes.text = end
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

    mutating func end(_ ending: ReplyEnding, at position: ReplyPosition, to buffer: inout ByteBuffer) {
        let line = ending.lastEvent.span
        if let parts = AnswerParts(line), !parts.isError {
            let ends = (sizes.thinking + parts.thinking.decodedSize, sizes.text + parts.text.decodedSize)
            append(parts, upTo: ends, to: &buffer)
        }
        let end = ResponseEnd(line, context)
        change(to: .none, in: &buffer, messageStatus: end.messageStatus)
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

    // MARK: - Items

    private var messageIndex: Int { output.thinking.isEmpty ? 0 : 1 }

    /// Ends the open item unless it is the wanted one, and begins that.
    private mutating func change(
        to wanted: Item, in buffer: inout ByteBuffer, messageStatus: StaticString = "completed"
    ) {
        guard item != wanted else { return }
        switch item {
        case .none: break
        case .reasoning: endReasoning(in: &buffer)
        case .message: endMessage(in: &buffer, status: messageStatus)
        }
        item = wanted
        switch wanted {
        case .none: break
        case .reasoning: beginReasoning(in: &buffer)
        case .message: beginMessage(in: &buffer)
        }
    }

    private mutating func beginReasoning(in buffer: inout ByteBuffer) {
        append("response.output_item.added", ResponseEventNumber.reasoningAdded, item: 0, to: &buffer) { [context] in
            ResponseOutput.append(reasoning: Span(), context, to: &$0)
        }
        append(
            "response.content_part.added", ResponseEventNumber.reasoningPartAdded, partOf: .reasoning, at: 0,
            to: &buffer
        ) {
            $0.append(",\"part\":")
            ResponseOutput.append(reasoningPart: Span(), to: &$0)
        }
        opening = openingOfDelta("response.reasoning.delta", of: .reasoning, at: 0)
    }

    private mutating func endReasoning(in buffer: inout ByteBuffer) {
        let text = output.thinking
        append("response.reasoning.done", ResponseEventNumber.reasoningDone, partOf: .reasoning, at: 0, to: &buffer) {
            $0.append(",\"text\":")
            $0.append(inside: text.bytes)
        }
        append(
            "response.content_part.done", ResponseEventNumber.reasoningPartDone, partOf: .reasoning, at: 0, to: &buffer
        ) {
            $0.append(",\"part\":")
            ResponseOutput.append(reasoningPart: text.bytes, to: &$0)
        }
        append("response.output_item.done", ResponseEventNumber.reasoningItemDone, item: 0, to: &buffer) { [context] in
            ResponseOutput.append(reasoning: text.bytes, context, to: &$0)
        }
    }

    private mutating func beginMessage(in buffer: inout ByteBuffer) {
        let index = messageIndex
        append("response.output_item.added", ResponseEventNumber.messageAdded, item: index, to: &buffer) { [context] in
            ResponseOutput.append(message: Span(), context, status: "in_progress", to: &$0)
        }
        append(
            "response.content_part.added", ResponseEventNumber.textPartAdded, partOf: .message, at: index, to: &buffer
        ) {
            $0.append(",\"part\":")
            ResponseOutput.append(textPart: Span(), to: &$0)
        }
        opening = openingOfDelta("response.output_text.delta", of: .message, at: index)
    }

    private mutating func endMessage(in buffer: inout ByteBuffer, status: StaticString) {
        let (index, text) = (messageIndex, output.text)
        append("response.output_text.done", ResponseEventNumber.textDone, partOf: .message, at: index, to: &buffer) {
            $0.append(",\"logprobs\":[],\"text\":")
            $0.append(inside: text.bytes)
        }
        append("response.content_part.done", ResponseEventNumber.textPartDone, partOf: .message, at: index, to: &buffer)
        {
            $0.append(",\"part\":")
            ResponseOutput.append(textPart: text.bytes, to: &$0)
        }
        append("response.output_item.done", ResponseEventNumber.messageDone, item: index, to: &buffer) { [context] in
            ResponseOutput.append(message: text.bytes, context, status: status, to: &$0)
        }
    }

    /// Appends the events of all calls, each with all of its arguments.
    private mutating func appendCalls(to buffer: inout ByteBuffer) {
        var number = ResponseEventNumber.call(0)
        var (index, place) = (0, messageIndex + (output.text.isEmpty ? 0 : 1))
        let context = context
        let tools = output.toolCalls.isEmpty ? ToolTable() : context.tools
        output.forEachCall { call in
            let tool = tools.tool(of: call)
            let isCustom = tool?.isCustom ?? false
            let item = ResponseOutput.Item.call(index, isCustom: isCustom)
            append("response.output_item.added", number, item: place, to: &buffer) {
                ResponseOutput.append(
                    call, of: tool, at: index, context, status: "in_progress", hasArguments: false, to: &$0)
            }
            if isCustom {
                append("response.custom_tool_call_input.delta", number + 1, ofCall: item, at: place, to: &buffer) {
                    $0.append(",\"delta\":")
                    $0.append(customInputOf: call)
                }
                append("response.custom_tool_call_input.done", number + 2, ofCall: item, at: place, to: &buffer) {
                    $0.append(",\"input\":")
                    $0.append(customInputOf: call)
                }
            } else {
                append("response.function_call_arguments.delta", number + 1, ofCall: item, at: place, to: &buffer) {
                    $0.append(",\"delta\":")
                    $0.append(argumentsOf: call)
                }
                append("response.function_call_arguments.done", number + 2, ofCall: item, at: place, to: &buffer) {
                    $0.append(nameOf: call, tool)
                    $0.append(",\"arguments\":")
                    $0.append(argumentsOf: call)
                }
            }
            append("response.output_item.done", number + 3, item: place, to: &buffer) {
                ResponseOutput.append(call, of: tool, at: index, context, status: "completed", to: &$0)
            }
            number += 4
            index += 1
            place += 1
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

    /// Appends an event of the only part of an item.
    private mutating func append(
        _ name: StaticString, _ number: Int, partOf item: ResponseOutput.Item, at index: Int,
        to buffer: inout ByteBuffer, _ body: (inout ByteBuffer) -> Void
    ) {
        append(name, number, to: &buffer) { [context] buffer in
            buffer.append(",\"item_id\":")
            ResponseOutput.append(idOf: item, context, to: &buffer)
            buffer.append(",\"output_index\":")
            buffer.append(decimal: index)
            buffer.append(",\"content_index\":0")
            body(&buffer)
        }
    }

    /// Appends an event of the arguments or the text of a call.
    private mutating func append(
        _ name: StaticString, _ number: Int, ofCall call: ResponseOutput.Item, at index: Int,
        to buffer: inout ByteBuffer, _ body: (inout ByteBuffer) -> Void
    ) {
        append(name, number, to: &buffer) { [context] buffer in
            buffer.append(",\"item_id\":")
            ResponseOutput.append(idOf: call, context, to: &buffer)
            buffer.append(",\"output_index\":")
            buffer.append(decimal: index)
            body(&buffer)
        }
    }

    /// A delta up to its text. The number follows the text, so that this is the same for all deltas.
    private func openingOfDelta(_ name: StaticString, of item: ResponseOutput.Item, at index: Int) -> [UInt8] {
        var buffer = ByteBuffer()
        buffer.append("event: ")
        buffer.append(name)
        buffer.append("\ndata: {\"type\":\"")
        buffer.append(name)
        buffer.append("\",\"item_id\":")
        ResponseOutput.append(idOf: item, context, to: &buffer)
        buffer.append(",\"output_index\":")
        buffer.append(decimal: index)
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
    fileprivate var decodedSize: Int {
        var text = ByteBuffer()
        text.append(decodingJSON: self)
        return text.count
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
