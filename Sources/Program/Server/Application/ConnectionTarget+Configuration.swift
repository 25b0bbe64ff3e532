import ChatterdConfiguration
import ChatterdPostgres

extension ConnectionTarget {
    /// The database that the configuration names.
    ///
    /// - Throws: if the configuration names no database, or a connection string that cannot be parsed.
    public init(_ database: Configuration.Database) throws(StartError) {
        let text: String
        switch database {
        case .conninfo(let secret): text = secret.value
        case .libpqEnvironment: text = ""
        case .privateCluster, .notGiven:
            throw StartError("No database is given: set DATABASE_URL, or start with --dev for a private PostgreSQL.")
        }
        do throws(PostgresError) {
            try self.init(text)
        } catch {
            throw StartError("DATABASE_URL cannot be read: \(error)")
        }
    }
}
