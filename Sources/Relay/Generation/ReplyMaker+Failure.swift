import ChatterdLanguageModels

/// The reaction to failed model servers.
extension ReplyMaker {
    /// The error of the reply after the last step of the plan.
    func failure(_ step: RescuePlan.Step) -> RelayError {
        guard let cause = trouble?.cause else {
            return RelayError(absence)
        }
        guard step == .reject else {
            trouble?.blameSuspects(at: now)
            return RelayError(cause)
        }
        return RelayError(ModelError(.rejected, cause.message, detail: "two servers said: \(cause.detail)"))
    }

    /// The error if no server can be asked.
    private var absence: ModelError {
        let refusal = service.upstreams.refusal(of: reply.model)
        guard trouble?.isAbsent == true, refusal.code == .modelNotFound else { return refusal }
        return ModelError(.modelNotFound, "The model server was removed while the prompt waited for it.")
    }

    /// The next step after a failure.
    func next(after error: ModelError) -> RescuePlan.Step {
        troubled().note(error, isBreak: reply.contentEnd.total > startTotal && !couldNotContinue)
        guard !couldNotContinue else { return plan.couldNotContinue(number, after: progress, at: now, candidates()) }
        return plan.failed(
            error, by: number, after: progress, at: now, candidates(withContexts: error.code == .contextTooLong))
    }

    /// Asks again with a shorter prompt if the server refused the prompt as too long, or may have failed because of its length.
    func askAgain(
        _ choice: UpstreamChoice, after error: ModelError
    ) async throws(RelayError) -> Outcome? {
        guard trimmingsLeft > 0, var receipt = account.receipt else { return .failed(error) }
        if error.code == .contextTooLong {
            service.estimates.learn(from: error, of: choice, refused: &receipt)
        } else {
            guard mayBeTooLong(receipt, error) else { return .failed(error) }
            troubled().hasSentLess = true
        }
        trimmingsLeft -= 1
        troubled().refused = (receipt, error)
        return try await ask()
    }

    /// Whether the length of the prompt may have caused a failure. The prompt must be long, the context of the model unknown, and
    /// the reply empty; the answer is `true` once per reply.
    private func mayBeTooLong(_ receipt: ReplyReceipt, _ error: ModelError) -> Bool {
        guard error.hint == .context, reply.isEmpty, trouble?.hasSentLess != true, receipt.contextLength == nil else {
            return false
        }
        return (receipt.estimatedTokens ?? 0) >= TokenEstimates.leastContext
    }

    /// Counts a failure against the server if the server is at fault.
    func judge(_ error: ModelError, of health: UpstreamHealth) {
        if couldNotContinue {
            health.leftAlone()
        } else if !error.code.isOfTheServer {
            health.answered()
        } else if case .request = error.hint, reply.isEmpty {
            health.leftAlone()
            troubled().suspect(health, of: error)
        } else {
            health.failed(error, at: now)
        }
    }
}
