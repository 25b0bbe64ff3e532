import ChatterdIdentity
import ChatterdPostgresStore
import ChatterdRelay

/// The charge of a request outside of conversations. A principal with limits is charged before the request, any other afterwards.
struct PassedCharge {
    /// The rest of the limits of the principal.
    let quota: Quota?

    private let meter: Meter?
    private let id: ReplyID
    private let bytes: Int
    private let usage: UsageStore

    /// Counts a request and reserves its tokens. `settle` must follow.
    ///
    /// - Parameters:
    ///   - bytes: the size of the prompt.
    ///   - answer: the tokens of the answer that the request permits; `nil` if it has no limit.
    /// - Throws: `rateLimited`; errors of the store.
    init(_ meter: Meter?, for id: ReplyID, bytes: Int, answer: Int?, in usage: UsageStore) async throws(RelayError) {
        self.meter = meter
        self.id = id
        self.bytes = bytes
        self.usage = usage
        guard let meter, meter.isLimited else {
            quota = nil
            return
        }
        quota = try await usage.charge(meter, for: id, bytes: bytes, answer: answer)
    }

    /// Settles the charge with the tokens of an answer; with none if no model server has answered.
    func settle(_ answer: PassedAnswerCount?) async {
        await settle(answer.map { ($0.promptTokens ?? bytes / 4 + 1, $0.answerTokens) } ?? (0, 0))
    }

    /// Settles the charge with a token for four bytes of the prompt and of a text; with none if no model server has answered.
    func settle(estimating answer: String?) async {
        await settle(answer.map { (bytes / 4 + 1, $0.utf8.count / 4 + 1) } ?? (0, 0))
    }

    private func settle(_ tokens: (prompt: Int, answer: Int)) async {
        guard let meter else { return }
        let (promptTokens, answerTokens) = tokens
        if meter.isLimited {
            await usage.settle(id, promptTokens: promptTokens, answerTokens: answerTokens)
        } else {
            await usage.record(meter, for: id, promptTokens: promptTokens, answerTokens: answerTokens)
        }
    }
}
