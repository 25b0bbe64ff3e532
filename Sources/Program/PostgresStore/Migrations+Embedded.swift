import ChatterdPostgres

// The names of the resources are the package manager's: it replaces a leading digit by an underscore.
extension Migration {
    /// The name of the newest one.
    public static let newest = embedded.last?.name ?? "none"

    /// The files of `Migrations/`, as they were when the program was built; a test holds the list against the folder.
    public static var embedded: [Migration] {
        [
            Migration(name: "0001_chatts", sql: String(decoding: PackageResources._001_chatts_sql, as: UTF8.self)),
            Migration(name: "0002_replies", sql: String(decoding: PackageResources._002_replies_sql, as: UTF8.self)),
            Migration(
                name: "0003_upstreams", sql: String(decoding: PackageResources._003_upstreams_sql, as: UTF8.self)),
            Migration(
                name: "0004_adoptions", sql: String(decoding: PackageResources._004_adoptions_sql, as: UTF8.self)),
            Migration(
                name: "0005_lifecycle", sql: String(decoding: PackageResources._005_lifecycle_sql, as: UTF8.self)),
            Migration(name: "0006_totals", sql: String(decoding: PackageResources._006_totals_sql, as: UTF8.self)),
            Migration(
                name: "0007_conversations",
                sql: String(decoding: PackageResources._007_conversations_sql, as: UTF8.self)),
            Migration(name: "0008_access", sql: String(decoding: PackageResources._008_access_sql, as: UTF8.self)),
            Migration(name: "0009_usage", sql: String(decoding: PackageResources._009_usage_sql, as: UTF8.self)),
            Migration(name: "0010_feed", sql: String(decoding: PackageResources._010_feed_sql, as: UTF8.self)),
            Migration(
                name: "0011_isolation", sql: String(decoding: PackageResources._011_isolation_sql, as: UTF8.self)),
            Migration(name: "0012_sessions", sql: String(decoding: PackageResources._012_sessions_sql, as: UTF8.self)),
            Migration(name: "0013_policies", sql: String(decoding: PackageResources._013_policies_sql, as: UTF8.self)),
            Migration(name: "0014_edits", sql: String(decoding: PackageResources._014_edits_sql, as: UTF8.self)),
            Migration(name: "0015_sheets", sql: String(decoding: PackageResources._015_sheets_sql, as: UTF8.self)),
            Migration(name: "0016_hot", sql: String(decoding: PackageResources._016_hot_sql, as: UTF8.self)),
            Migration(
                name: "0017_stateless", sql: String(decoding: PackageResources._017_stateless_sql, as: UTF8.self)),
            Migration(
                name: "0018_attachments", sql: String(decoding: PackageResources._018_attachments_sql, as: UTF8.self)),
            Migration(
                name: "0019_functions", sql: String(decoding: PackageResources._019_functions_sql, as: UTF8.self)),
            Migration(name: "0020_counts", sql: String(decoding: PackageResources._020_counts_sql, as: UTF8.self)),
            Migration(name: "0021_sessions", sql: String(decoding: PackageResources._021_sessions_sql, as: UTF8.self)),
            Migration(name: "0022_growth", sql: String(decoding: PackageResources._022_growth_sql, as: UTF8.self)),
            Migration(name: "0023_lists", sql: String(decoding: PackageResources._023_lists_sql, as: UTF8.self)),
            Migration(
                name: "0024_histories", sql: String(decoding: PackageResources._024_histories_sql, as: UTF8.self)),
            Migration(name: "0025_singles", sql: String(decoding: PackageResources._025_singles_sql, as: UTF8.self)),
            Migration(name: "0026_metadata", sql: String(decoding: PackageResources._026_metadata_sql, as: UTF8.self)),
            Migration(name: "0027_release", sql: String(decoding: PackageResources._027_release_sql, as: UTF8.self)),
            Migration(name: "0028_tools", sql: String(decoding: PackageResources._028_tools_sql, as: UTF8.self)),
            Migration(
                name: "0029_approvals", sql: String(decoding: PackageResources._029_approvals_sql, as: UTF8.self)),
            Migration(
                name: "0030_deliveries", sql: String(decoding: PackageResources._030_deliveries_sql, as: UTF8.self)),
            Migration(name: "0031_levels", sql: String(decoding: PackageResources._031_levels_sql, as: UTF8.self)),
        ]
    }
}

extension Migrator {
    /// A migrator of the tables of conversations, and of the role of requests.
    public init(
        _ target: ConnectionTarget, log: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.init(Migration.embedded, setup: MemberRole.setup, target: target, log: log)
    }
}
