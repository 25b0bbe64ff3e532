/// The use of a subject on the last days.
public struct UsageReport: Sendable, Hashable {
    /// Today, and the earlier days with use, the newest first.
    public let days: [UsageRecord]
    /// A page of its owners; empty for the report of one owner.
    public let owners: [UsageRecord]
    /// Whether there are more owners.
    public let hasMore: Bool
}
