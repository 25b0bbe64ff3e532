import ChatterdBasics
import ChatterdRelay

/// Writes the events of a streamed message.
struct AnthropicEventEncoder: AnswerEncoder {
    static let contentType = StreamType.events

    /// The block that is open.
    private enum Block {
        case none
        case text
        case thinking
    }

    private let context: AnswerContext
    private var block = Block.none
    /// The number of blocks that have begun.
    private var blocks = 0
    /// The number of calls of tools so far.
    private var calls = 0
    /// The opening of an event with a piece of the open block.
    private var opening: [UInt8] = []

    private static let closing: StaticString = "\"}}\n\n"

    init(_ context: AnswerContext) {
        self.context = context
    }

    mutating func begin(to buffer: inout ByteBuffer) {
        append("message_start", to: &buffer) { buffer in
            buffer.appendJSON { json in
                json.object { json in
                    json.member("type", "message_start")
                    json.object("message") { message in
                        message.member("id", "msg_\(context.reply)")
                        message.member("type", "message")
                        message.member("role", "assistant")
                        message.member("model", context.model)
                        message.array("content") { _ in }
                        message.name("stop_reason")
                        message.null()
                        message.name("stop_sequence")
                        message.null()
                        // The counts are known at the end, and are in `message_delta`.
                        message.object("usage") { usage in
                            AnthropicMessages.write(input: context.estimatedTokens, output: 0, to: &usage)
                        }
                    }
                }
            }
        }
    }

    mutating func append(_ lines: borrowing PositionedLines, to buffer: inout ByteBuffer) {
        guard lines.areTokens else {
            if let parts = AnswerParts(lines.line(at: 0)) { append(parts, to: &buffer) }
            return
        }
        change(to: .text, in: &buffer)
        for index in 0..<lines.count {
            buffer.append(opening)
            buffer.append(lines.text(ofToken: index))
            buffer.append(Self.closing)
        }
    }

    private mutating func append(_ parts: borrowing AnswerParts, to buffer: inout ByteBuffer) {
        if !parts.thinking.isEmpty {
            change(to: .thinking, in: &buffer)
            buffer.append(opening)
            buffer.append(parts.thinking)
            buffer.append(Self.closing)
        }
        if !parts.text.isEmpty {
            change(to: .text, in: &buffer)
            buffer.append(opening)
            buffer.append(parts.text)
            buffer.append(Self.closing)
        }
        guard parts.toolCalls != nil else { return }
        change(to: .none, in: &buffer)
        var (block, call) = (blocks, calls)
        parts.forEachCall { parts in
            append(parts, number: call, asBlock: block, to: &buffer)
            block += 1
            call += 1
        }
        (blocks, calls) = (block, call)
    }

    /// Appends the events of a whole call.
    private func append(
        _ call: borrowing AnswerToolCall, number: Int, asBlock block: Int, to buffer: inout ByteBuffer
    ) {
        append("content_block_start", to: &buffer) { buffer in
            buffer.append("{\"type\":\"content_block_start\",\"index\":")
            buffer.append(decimal: block)
            buffer.append(",\"content_block\":{\"type\":\"tool_use\",\"id\":")
            buffer.append(idOf: call, at: number, in: context)
            buffer.append(",\"name\":")
            buffer.append(inside: call.name)
            buffer.append(",\"input\":{}}}")
        }
        append("content_block_delta", to: &buffer) { buffer in
            var input = ByteBuffer()
            input.append(inputOf: call)
            buffer.append("{\"type\":\"content_block_delta\",\"index\":")
            buffer.append(decimal: block)
            buffer.append(",\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":")
            buffer.append(jsonString: input.bytes)
            buffer.append("}}")
        }
        appendStop(of: block, to: &buffer)
    }

    /// Ends the open block unless it is of the wanted kind, and begins one.
    private mutating func change(to wanted: Block, in buffer: inout ByteBuffer) {
        guard block != wanted else { return }
        if block != .none { appendStop(of: blocks - 1, to: &buffer) }
        block = wanted
        guard wanted != .none else { return }
        let index = blocks
        blocks += 1
        append("content_block_start", to: &buffer) { buffer in
            buffer.append("{\"type\":\"content_block_start\",\"index\":")
            buffer.append(decimal: index)
            buffer.append(
                wanted == .text
                    ? ",\"content_block\":{\"type\":\"text\",\"text\":\"\"}}"
                    : ",\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}")
        }
        var event = ByteBuffer()
        event.append("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":")
        event.append(decimal: index)
        event.append(
            wanted == .text
                ? ",\"delta\":{\"type\":\"text_delta\",\"text\":\""
                : ",\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"")
        opening = event.array
    }

    mutating func end(_ ending: ReplyEnding, at position: ReplyPosition, to buffer: inout ByteBuffer) {
        let line = ending.lastEvent.span
        var end = (promptTokens: 0, answerTokens: 0, isCut: false)
        if let parts = AnswerParts(line) {
            append(parts, to: &buffer)
            end = (parts.promptTokens, parts.answerTokens, parts.isCut)
        }
        change(to: .none, in: &buffer)
        let stop = AnthropicStop(ending.lastEvent, isCut: end.isCut, hasCalls: calls > 0)
        append("message_delta", to: &buffer) { buffer in
            buffer.append("{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"")
            buffer.append(utf8: stop.reason)
            buffer.append("\",\"stop_sequence\":")
            if let sequence = stop.sequence {
                buffer.append(jsonString: sequence)
            } else {
                buffer.append("null")
            }
            buffer.append("},\"usage\":{\"input_tokens\":")
            buffer.append(decimal: context.inputTokens(counted: end.promptTokens))
            buffer.append(",\"output_tokens\":")
            buffer.append(decimal: end.answerTokens)
            buffer.append("}}")
        }
        append("message_stop", to: &buffer) { $0.append("{\"type\":\"message_stop\"}") }
    }

    mutating func fail(_ error: RelayError, at nanoseconds: Int64, to buffer: inout ByteBuffer) {
        append("error", to: &buffer) { AnthropicDoor().append(DoorFault(error), to: &$0) }
    }

    func keepAlive(to buffer: inout ByteBuffer) {
        append("ping", to: &buffer) { $0.append("{\"type\":\"ping\"}") }
    }

    private func appendStop(of block: Int, to buffer: inout ByteBuffer) {
        append("content_block_stop", to: &buffer) { buffer in
            buffer.append("{\"type\":\"content_block_stop\",\"index\":")
            buffer.append(decimal: block)
            buffer.append("}")
        }
    }

    /// Appends an event whose data `body` appends.
    private func append(_ name: StaticString, to buffer: inout ByteBuffer, _ body: (inout ByteBuffer) -> Void) {
        buffer.append("event: ")
        buffer.append(name)
        buffer.append("\ndata: ")
        body(&buffer)
        buffer.append("\n\n")
    }
}
