import ChatterdChat
import ChatterdRelay

/// The beginning of the history of a turn, up to the turn's own prompts, kept for the next turn that follows it.
struct KeptHistory: Sendable {
    /// The version of the rows when they were read.
    let version: HistoryVersion
    /// The turn, and its reply. They detect a database that was restored to an earlier state.
    let turn: Turn
    let id: ReplyID
    /// The number of the last row of the beginning: the row above the turn's prompts on its branch. The rows behind it are read again.
    let junction: Int64
    /// The messages up to the junction.
    let messages: EncodedConversation
    /// The omitted messages up to the junction.
    let omitted: [PromptReport.Omitted]
    /// As in `TurnHistory`.
    let skipped: ClosedRange<Int64>?

    /// The size in memory, in bytes.
    var memorySize: Int { messages.memorySize + omitted.count * MemoryLayout<PromptReport.Omitted>.stride + 256 }

    /// Whether a reader with a reach may find this history useful.
    func isUseful(for reach: HistoryReach?) -> Bool { skipped == nil || reach != nil }
}

/// The version of the rows of a conversation that do not change: those below its running turns.
///
/// The rows are the same while the version is the same. Each replacement, removal, import and change by hand raises `base`, and a
/// conversation that is created again has another `epoch`.
struct HistoryVersion: Sendable, Equatable {
    let epoch: Int64
    let base: Int64
}
