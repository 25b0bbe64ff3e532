import ChatterdBasics
import ChatterdChat

/// The failures of a reply so far.
struct FailureRecord {
    /// The reason to end the reply early.
    private(set) var cancellation: RelayError?
    /// Whether a server was removed before it was asked.
    var wasServerRemoved = false
    /// The prompt that the current server found too long, and its error.
    var refused: (report: PromptReport, error: ModelError)?
    /// Whether a shorter prompt was sent because the length may have caused the server's failure.
    var hasSentLess = false
    /// Whether the current server is asked for no thoughts, because its model cannot think.
    var omitsThinking = false

    /// The violation that the model was asked to repair.
    var repaired: JSONSchemaViolation?
    /// Whether the reply still has the answer with that violation.
    var isRepairPending = false

    /// The failure for the reader.
    private var failure: ModelError?
    /// Whether the failure broke off an answer that the reader has seen.
    private var isBreak = false
    /// The number of failures after a break, and the last one.
    private var later: (count: Int, last: ModelError)?

    /// Records the first reason to end the reply.
    mutating func cancel(_ reason: RelayError) {
        cancellation = cancellation ?? reason
    }

    /// Records a failure; `isBreak` says whether it broke off a started answer.
    ///
    /// A later failure does not replace a break: the reader gets the reason why the existing text ends.
    mutating func note(_ error: ModelError, isBreak: Bool) {
        if isBreak || !self.isBreak && explains(error) {
            (failure, self.isBreak, later) = (error, isBreak, nil)
        } else if self.isBreak {
            later = ((later?.count ?? 0) + 1, error)
        }
    }

    /// Whether a failure may replace the first one. Another server's smaller context does not explain it; a larger one that is
    /// still too small does.
    private func explains(_ error: ModelError) -> Bool {
        error.code != .contextTooLong || failure.map { $0.code == .contextTooLong } ?? true
    }

    /// The failure of the reply if no server can generate it. Its detail includes the failures after a break.
    var cause: ModelError? {
        guard let failure, let later else { return failure }
        let detail = "\(failure.detail); then \(later.count) more, the last: \(later.last)"
        return ModelError(failure.code, failure.message, detail: detail)
    }
}
