import ChatterdBasics
import ChatterdLanguageModels
import ChatterdPostgres
import ChatterdRelay

/// The columns of `HistoryStatements.page`.
enum HistoryColumn {
    static let seq = 0
    static let name = 1
    /// Null if the message is too long for a page.
    static let message = 2
    /// Empty if the extras are too long for a page.
    static let extras = 3
    static let state = 4
    static let after = 5
}
