import Postgres

extension Migration {
    /// The files of `Migrations/`, as they were when the program was built; a test holds the list against the folder.
    static var embedded: [Migration] {
        [
            Migration(name: "0001_chatts", sql: String(decoding: PackageResources._0001_chatts_sql, as: UTF8.self))
        ]
    }
}
