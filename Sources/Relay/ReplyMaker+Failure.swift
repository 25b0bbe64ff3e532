import LanguageModels

/// What is done about servers that fail.
extension ReplyMaker {
    /// The error of a plan that has come to its end.
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

    /// Why there is no server to ask.
    private var absence: ModelError {
        let refusal = service.upstreams.refusal(of: reply.model)
        guard trouble?.isAbsent == true, refusal.code == .modelNotFound else { return refusal }
        return ModelError(.modelNotFound, "The model server was removed while the prompt waited for it.")
    }

    /// What is done when a server has failed.
    func next(after error: ModelError) -> RescuePlan.Step {
        troubled().note(error, isBreak: reply.contentEnd.total > startTotal && !couldNotContinue)
        guard !couldNotContinue else { return plan.couldNotContinue(number, after: progress, at: now, candidates()) }
        return plan.failed(
            error, by: number, after: progress, at: now, candidates(withContexts: error.code == .contextTooLong))
    }

    /// Asks again, with less of the conversation, when the model server has found it too long, or may have.
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

    /// Whether a failure may have come of a conversation that is longer than the model takes: of a long one, where it is not
    /// known how much that is, and once for each reply.
    private func mayBeTooLong(_ receipt: ReplyReceipt, _ error: ModelError) -> Bool {
        guard error.hint == .context, reply.isEmpty, trouble?.hasSentLess != true, receipt.contextLength == nil else {
            return false
        }
        return (receipt.estimatedTokens ?? 0) >= TokenEstimates.leastContext
    }

    /// Counts a failure against the server, unless it is not the server's.
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
