import ChatterdBasics
import ChatterdLanguageModels

/// What is done with lines that are not simply the reply's.
extension ReplyMaker {
    /// Reads a line that goes on behind the text of another server, or is to take its place.
    func examine(_ line: Span<UInt8>, _ fields: AnswerLine) {
        switch course {
        case .pass:
            pass(line, fields)
        case .replace:
            guard fields.isDone || fields.saysSomething || !held.isEmpty else { return }
            held.append(line.withUnsafeBufferPointer { Array($0) })
            wake()
        case .join(var joint):
            var outcome = TextJoint.Outcome.hold
            if let content = fields.content, !content.range.isEmpty {
                var text = ByteBuffer()
                text.append(decodingJSON: line.extracting(content.range))
                outcome = joint.take(text.array)
            }
            if outcome == .hold, fields.toolCalls != nil {
                outcome = .continues(joint.rest)
            } else if outcome == .hold, fields.isDone {
                outcome = joint.end()
            }
            course = .join(joint)
            apply(outcome, line, fields)
        }
    }

    /// Applies the outcome of the joint to a line.
    private func apply(_ outcome: TextJoint.Outcome, _ line: Span<UInt8>, _ fields: AnswerLine) {
        let isTextOnly = fields.thinking == nil && fields.toolCalls == nil
        switch outcome {
        case .hold where isTextOnly: break
        case .fails:
            generation?.cancel()
            couldNotContinue = true
            finish(
                ModelError(
                    .incomplete, "The model server did not continue the answer.",
                    detail: "it started the answer again or sent nothing"))
        case .hold:
            passEmptied(line, fields)
        case .continues(let text):
            course = .pass
            if !text.isEmpty {
                var said = ByteBuffer()
                AnswerLineWriter(model: reply.model).append(
                    content: text.span, at: service.scheduler.timeOfDay(), to: &said)
                pass(said.array)
            }
            if fields.isDone || !isTextOnly {
                passEmptied(line, fields)
            }
        }
    }

    /// Passes what a line says besides its text.
    private func passEmptied(_ line: Span<UInt8>, _ fields: AnswerLine) {
        var rest = ByteBuffer()
        rest.append(emptyingContentOf: fields, in: line)
        pass(rest.array)
    }
}
