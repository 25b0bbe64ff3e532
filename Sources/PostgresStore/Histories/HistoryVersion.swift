/// The version of the rows of a conversation that do not change: those below its running turns.
///
/// The rows are the same while the version is the same. Each replacement, removal, import and change by hand raises `base`, and a
/// conversation that is created again has another `epoch`.
struct HistoryVersion: Sendable, Equatable {
    let epoch: Int64
    let base: Int64
}
