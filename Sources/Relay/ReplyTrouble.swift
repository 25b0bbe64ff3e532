import LanguageModels

/// What has gone wrong with a reply so far. Confined to its shard.
final class ReplyTrouble {
    /// Why the reply is to end early.
    var cancellation: RelayError?
    /// Whether a server was removed before it was asked.
    var isAbsent = false
    /// What the server that is asked has found too long, and what it said.
    var refused: (receipt: ReplyReceipt, error: ModelError)?
    /// Whether less of the conversation was sent because the server's failure may have come of its length.
    var hasSentLess = false

    /// The failure that the reader is told.
    private var failure: ModelError?
    /// Whether that broke off an answer that the reader has seen.
    private var isBreak = false
    /// The failures behind a break: how many, and the last one.
    private var later: (count: Int, last: ModelError)?
    /// The servers that have failed unless the request is at fault.
    private var suspects: [(health: UpstreamHealth, error: ModelError)] = []

    /// Notes a failure; `isBreak` is whether it broke off an answer that had begun.
    ///
    /// A failure after a break does not replace it: the reader is told what became of the text that is there.
    func note(_ error: ModelError, isBreak: Bool) {
        if isBreak || !self.isBreak && explains(error) {
            (failure, self.isBreak, later) = (error, isBreak, nil)
        } else if self.isBreak {
            later = ((later?.count ?? 0) + 1, error)
        }
    }

    /// That another server takes less does not say why the first one failed; that it takes more, and not enough, does.
    private func explains(_ error: ModelError) -> Bool {
        error.code != .contextTooLong || failure.map { $0.code == .contextTooLong } ?? true
    }

    /// Why the reply fails if no server can make it; the failures behind a break are in its detail.
    var cause: ModelError? {
        guard let failure, let later else { return failure }
        let detail = "\(failure.detail); then \(later.count) more, the last: \(later.last)"
        return ModelError(failure.code, failure.message, detail: detail)
    }

    /// Suspects a server of a failure for which the request may be at fault.
    func suspect(_ health: UpstreamHealth, of error: ModelError) {
        suspects.append((health, error))
    }

    /// Counts the failures against the suspected servers: the request was not at fault.
    func blameSuspects(at now: UInt64) {
        for suspect in suspects {
            suspect.health.blame(suspect.error, at: now)
        }
        suspects = []
    }
}
