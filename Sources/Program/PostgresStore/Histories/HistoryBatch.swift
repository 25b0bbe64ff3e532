import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The queries of a history in the transaction that opens its turn or looks for its reply.
struct HistoryBatch {
    private let reach: HistoryReach?
    private let page: Transaction.Step<HistoryRow>
    private let kept: KeptHistory?
    /// The reply of the turn for which the history was kept.
    private let state: Transaction.Step<Bool>?

    /// Adds the queries to a transaction.
    ///
    /// - Parameter reach: how far back the history is read; `nil` for all of it.
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

    /// What the queries have found.
    func found(in results: Transaction.Results) -> FirstPage {
        let isKeptStill = state.map { results[$0].count == 1 } ?? false
        return FirstPage(
            reach: reach, rows: results[page], start: kept?.junction ?? 0, kept: isKeptStill ? kept : nil)
    }

    /// The first page of a history.
    struct FirstPage: Sendable {
        /// How far back the history is read; `nil` for all of it.
        let reach: HistoryReach?
        /// The rows that the kept history lacks.
        let rows: Rows<HistoryRow>
        /// The number of the row behind which they begin.
        let start: Int64
        private let kept: KeptHistory?

        fileprivate init(reach: HistoryReach?, rows: Rows<HistoryRow>, start: Int64, kept: KeptHistory?) {
            self.reach = reach
            self.rows = rows
            self.start = start
            self.kept = kept
        }

        /// The kept history, if its rows are still the same.
        func validHistory(at version: HistoryVersion?) -> KeptHistory? {
            kept.flatMap { $0.version == version ? $0 : nil }
        }
    }
}
