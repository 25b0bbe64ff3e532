import ChatterdBasics
import ChatterdChat

// The form of the answer: its check, and the repair.
extension ReplyGenerator {
    /// The messages that ask for a repair of the answer; none before a violation.
    var repair: EncodedConversation { form.value?.repair ?? EncodedConversation() }

    /// Checks the form of the complete answer. One that was cut by its limit of tokens is not a whole value.
    func check() async throws(RelayError) -> JSONSchemaViolation? {
        let hasCalls = reply.contentEnd.toolCalls > 0
        guard let form = form.value?.form(hasCalls: hasCalls), !isCut else {
            self.form.updateIfUsed { $0.outcome = nil }
            return nil
        }
        let content = try await reply.completeContent()
        let answer = hasCalls ? content.toolCalls : Array(content.text.dropFirst(base.text))
        let result = await self.result(of: answer, form)
        self.form.updateIfUsed { checked in
            checked.outcome = result
            if let violation = result?.violation, run.repaired == nil {
                checked.repair = form.repair(of: answer, after: violation)
            }
        }
        if result?.violation != nil {
            outcome = .failed(.formViolated)
        }
        return result?.violation
    }

    /// Checks an answer. A check that takes long leaves the event loop, whatever the sizes of the answer and of its schema are.
    private func result(of answer: [UInt8], _ form: AnswerForm) async -> AnswerForm.Outcome? {
        let quick = await context.scheduler.work(answer.count + form.size) {
            form.outcome(of: answer, steps: JSONSchema.quickSteps)
        }
        guard quick?.violation?.isForLackOfSteps == true else { return quick }
        return await context.scheduler.work(.max) { form.outcome(of: answer) }
    }

    /// Whether the last line says that the answer has reached its limit of tokens.
    private var isCut: Bool { run.lastLine?.isCut ?? false }
}
