import ChatterdBasics
import ChatterdRelay

/// Writes the chunks of a streamed chat completion.
struct OpenAIChunkEncoder: AnswerEncoder {
    static let contentType = StreamType.events

    private let context: AnswerContext
    /// `data: {"id":…` up to the braces of `choices`: the same in all chunks.
    private let head: [UInt8]
    /// `head` and the opening of a delta with text.
    private let textOpening: [UInt8]
    /// The number of calls of tools so far.
    private var calls = 0

    private static let textClosing: StaticString = "\"},\"finish_reason\":null}]}\n\n"

    init(_ context: AnswerContext) {
        self.context = context
        var buffer = ByteBuffer()
        buffer.append("data: {\"id\":\"chatcmpl-")
        buffer.append(utf8: context.reply.description)
        buffer.append("\",\"object\":\"chat.completion.chunk\",\"created\":")
        buffer.append(decimal: context.seconds)
        buffer.append(",\"model\":")
        buffer.append(jsonString: context.model)
        buffer.append(",\"choices\":[")
        head = buffer.array
        buffer.append("{\"index\":0,\"delta\":{\"content\":\"")
        textOpening = buffer.array
    }

    mutating func begin(to buffer: inout ByteBuffer) {
        appendDelta(to: &buffer) { $0.append("\"role\":\"assistant\",\"content\":\"\"") }
    }

    mutating func append(_ lines: borrowing PositionedLines, to buffer: inout ByteBuffer) {
        guard lines.areTokens else {
            if let parts = AnswerParts(lines.line(at: 0)) { append(parts, to: &buffer) }
            return
        }
        for index in 0..<lines.count {
            buffer.append(textOpening)
            buffer.append(lines.text(ofToken: index))
            buffer.append(Self.textClosing)
        }
    }

    private mutating func append(_ parts: borrowing AnswerParts, to buffer: inout ByteBuffer) {
        if !parts.thinking.isEmpty {
            appendDelta(to: &buffer) { buffer in
                buffer.append("\"reasoning_content\":")
                buffer.append(inside: parts.thinking)
            }
        }
        if !parts.text.isEmpty {
            buffer.append(textOpening)
            buffer.append(parts.text)
            buffer.append(Self.textClosing)
        }
        var index = calls
        parts.forEachCall { call in
            appendDelta(to: &buffer) { buffer in
                buffer.append("\"tool_calls\":[{\"index\":")
                buffer.append(decimal: index)
                buffer.append(",\"id\":")
                buffer.append(idOf: call, at: index, in: context)
                buffer.append(",\"type\":\"function\",\"function\":{\"name\":")
                buffer.append(inside: call.name)
                buffer.append(",\"arguments\":")
                buffer.append(argumentsOf: call)
                buffer.append("}}]")
            }
            index += 1
        }
        calls = index
    }

    mutating func end(_ ending: ReplyEnding, at position: ReplyPosition, to buffer: inout ByteBuffer) {
        let line = ending.lastEvent.span
        var counts = (prompt: 0, answer: 0, isCut: false)
        if let parts = AnswerParts(line) {
            append(parts, to: &buffer)
            counts = (parts.promptTokens, parts.answerTokens, parts.isCut)
        }
        buffer.append(head)
        buffer.append("{\"index\":0,\"delta\":{},\"finish_reason\":\"")
        buffer.append(utf8: OpenAIChat.finishReason(isCut: counts.isCut, hasCalls: calls > 0))
        buffer.append("\"}]}\n\n")
        if context.includesUsage {
            buffer.append(head)
            buffer.append("],\"usage\":")
            buffer.appendJSON { json in
                json.object { OpenAIChat.write(counts.prompt, counts.answer, to: &$0) }
            }
            buffer.append("}\n\n")
        }
        buffer.append("data: [DONE]\n\n")
    }

    mutating func fail(_ error: RelayError, at nanoseconds: Int64, to buffer: inout ByteBuffer) {
        buffer.append(eventOf: error)
    }

    func keepAlive(to buffer: inout ByteBuffer) {
        buffer.append(": keep-alive\n\n")
    }

    /// Appends a chunk whose delta has the members that `body` appends.
    private func appendDelta(to buffer: inout ByteBuffer, _ body: (inout ByteBuffer) -> Void) {
        buffer.append(head)
        buffer.append("{\"index\":0,\"delta\":{")
        body(&buffer)
        buffer.append("},\"finish_reason\":null}]}\n\n")
    }
}
