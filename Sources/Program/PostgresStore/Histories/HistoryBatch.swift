import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The queries of a history in the transaction that opens its turn or looks for its reply.
struct HistoryBatch {
    /// How far back the history is read; `nil` for all of it.
    let reach: HistoryReach?
    /// The first page of rows: those that the kept history lacks.
    let page: Transaction.Step<HistoryRow>
    /// The number of the row behind which the page begins.
    var start: Int64 { kept?.junction ?? 0 }
    private let kept: KeptHistory?
    /// The reply of the turn for which the history was kept.
    private let state: Transaction.Step<Bool>?

    /// Adds the queries to a transaction.
    ///
    /// - Parameter turn: the number of the turn, if it is open already.
    init(
        of conversation: ConversationKey, upTo turn: Int64 = .max, in cache: HistoryCache, for reach: HistoryReach?,
        _ transaction: inout Transaction
    ) {
        self.reach = reach
        let kept = cache.history(of: conversation).flatMap { kept in
            kept.isUseful(for: reach) && kept.junction < turn ? kept : nil
        }
        self.kept = kept
        page = transaction.add(HistoryReader.firstPage(of: conversation, behind: kept?.junction ?? 0, upTo: turn))
        state = kept.map { transaction.add(ConversationStatements.isReplayed($0.turn, id: $0.id)) }
    }

    /// The kept history, if its rows are still the same.
    func validHistory(in results: Transaction.Results, at version: HistoryVersion?) -> KeptHistory? {
        guard let kept, kept.version == version, let state, results[state].count == 1 else { return nil }
        return kept
    }
}
