import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// A response as a JSON object.
public struct ResponseDocument: Sendable {
    private let context: AnswerContext

    /// Creates the document of a reply. `context.kept` is what was kept with its request, if anything was.
    public init(_ context: AnswerContext) {
        self.context = context
    }

    /// Appends a response that has not begun.
    public func appendQueued(to body: inout ByteBuffer) {
        append(ResponseOutput(), as: .queued, to: &body)
    }

    /// Appends a response as far as it is.
    public func append(_ page: ReplyPage, to body: inout ByteBuffer) {
        var known = KnownSteps()
        let steps = context.servers.isEmpty ? [] : page.steps.map { known.take($0.steps) } ?? []
        let output = ResponseOutput(
            thinking: page.thinking.span, text: page.text.span, toolCalls: page.toolCalls.span, steps)
        let end: ResponseEnd
        if let ending = page.ending {
            end = ResponseEnd(ending.lastEvent.span, context)
        } else {
            end = page.queuePosition == nil ? .inProgress : .queued
        }
        append(output, as: end, to: &body)
    }

    func append(_ output: ResponseOutput, as end: ResponseEnd, to body: inout ByteBuffer) {
        body.append("{\"id\":\"resp_")
        body.append(utf8: context.reply.description)
        body.append("\",\"object\":\"response\",\"status\":\"")
        body.append(end.statusText)
        body.append("\",\"model\":")
        body.append(jsonString: context.model)
        body.append(",\"output\":")
        output.append(to: &body, context, end)
        body.append(",\"usage\":")
        body.append(end.tokens)
        body.append(",\"error\":")
        body.appendJSON { json in
            if let error = end.error {
                json.object { json in
                    json.member("code", error.code)
                    json.member("message", error.message)
                }
            } else {
                json.null()
            }
        }
        body.append(",\"incomplete_details\":")
        if let reason = end.incompleteReason {
            body.append("{\"reason\":\"")
            body.append(reason)
            body.append("\"}")
        } else {
            body.append("null")
        }
        body.append(",\"completed_at\":")
        if let time = end.completedAt { body.append(decimal: time) } else { body.append("null") }
        body.append(",")
        let kept = context.kept ?? ResponseRepetition.defaults(createdAt: context.seconds)
        body.append(kept.span.extracting(1..<(kept.count - 1)))
        body.append("}")
    }
}

extension ByteBuffer {
    /// Appends `usage`.
    fileprivate mutating func append(_ tokens: (prompt: Int, answer: Int)?) {
        appendJSON { json in
            guard let tokens else { return json.null() }
            json.object { usage in
                usage.member("input_tokens", tokens.prompt)
                usage.object("input_tokens_details") { $0.member("cached_tokens", 0) }
                usage.member("output_tokens", tokens.answer)
                usage.object("output_tokens_details") { $0.member("reasoning_tokens", 0) }
                usage.member("total_tokens", PeerCount.sum(tokens.prompt, tokens.answer))
            }
        }
    }
}
