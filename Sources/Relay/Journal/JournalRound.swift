import ChatterdBasics

/// What a flush of the journal includes.
struct JournalRound: Sendable {
    /// The maximum of the content of one shard, in bytes, approximately.
    var limit: Int
    /// The newest generation of sheets that the process knows.
    var generation: Int32
    /// The number of flushes over which the replies of a shard are spread.
    var slices = 1
}
