import ChatterdBasics
import ChatterdChat

// What arrives while a model server works: its lines and its end.
extension ReplyGenerator: GenerationConsumer {
    func generation(_ generation: any Generation, lines: LineRun) {
        if !isAnswered {
            isAnswered = true
            reply.facts.trace?.requestAnswered(at: now)
            history?.releaseRequest()
        }
        var first = 0
        // Lines that decide the course of the run are handled one at a time.
        while !run.appendsLines {
            let (line, fields) = (lines.line(at: first), lines.fields(at: first))
            let action = run.lineArrived(line, fields)
            apply(action, line, fields)
            first += 1
            guard action != .cancel, run.cancellation == nil, first < lines.count else { return }
        }
        append(first == 0 ? lines : lines.from(first))
    }

    func generationEnded(_ generation: any Generation, error: ModelError?) {
        failure = error?.code
        run.answerEnded(error)
        proceed()
    }

    private func apply(_ action: GenerationRun.LineAction, _ line: Span<UInt8>, _ fields: AnswerLine) {
        switch action {
        case .append: append(LineRun(line: line, fields: fields))
        case .appendWithoutText: appendWithoutText(line, fields)
        case .appendText(let text, let hasMore):
            if !text.isEmpty {
                var said = ByteBuffer()
                AnswerLineWriter(model: reply.model).append(
                    content: text.span, at: context.scheduler.timeOfDay(), to: &said)
                append(parsing: said.array)
            }
            if hasMore { appendWithoutText(line, fields) }
        case .none: break
        case .proceed: proceed()
        case .cancel:
            failure = .incomplete
            generation?.cancel()
            proceed()
        }
    }

    private func append(_ lines: LineRun) {
        if let tools, let line = lines.single, appendParts(of: line, in: lines.bytes, tools) { return }
        if lines.isDone, let line = lines.single { run.lastLine = lastLine(line, in: lines.bytes) }
        if let held { return hold(lines, in: held) }
        appendToReply(lines)
    }

    /// The last line of an answer: as it is, because the reply has its content too; or without all that the hooks have not seen.
    func lastLine(_ line: AnswerLine, in bytes: Span<UInt8>) -> LastLine {
        guard held != nil else { return LastLine(bytes.array, line, in: bytes) }
        var last = ByteBuffer()
        last.append(emptying: line, in: bytes)
        return LastLine(HeldAnswer.withoutText(last.array), line, in: bytes)
    }

    func appendToReply(_ lines: LineRun) {
        reply.append(lines)
        if awaitsFirstToken, !reply.isEmpty { noteFirstToken() }
    }

    @inline(never)
    private func noteFirstToken() {
        awaitsFirstToken = false
        context.observe(.answered(reply.facts, reply.facts.answered(at: context.scheduler.now())))
    }

    /// Appends a line that was checked before, so that parsing it cannot fail.
    func append(parsing line: [UInt8]) {
        guard let fields = try? AnswerLine(line.span) else { return }
        append(LineRun(line: line.span, fields: fields))
    }

    private func appendWithoutText(_ line: Span<UInt8>, _ fields: AnswerLine) {
        var rest = ByteBuffer()
        rest.append(emptyingContentOf: fields, in: line)
        append(parsing: rest.array)
    }

    func replay(_ lines: [[UInt8]]) -> GenerationRun.Event {
        forgetParts()
        if let tools { appendContent(of: tools.steps) }
        for line in lines {
            append(parsing: line)
        }
        if !isPaused {
            generation?.resume()
        }
        return .replayed
    }
}
