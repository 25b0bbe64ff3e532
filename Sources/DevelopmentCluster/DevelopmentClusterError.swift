/// Why there is no private PostgreSQL; the description says what to do about it.
public enum DevelopmentClusterError: Error, Equatable, CustomStringConvertible {
    /// No PostgreSQL programs, or none of the version that made the cluster.
    case notInstalled(version: String?)
    /// The process is root, as PostgreSQL must not be, and there is no user `postgres` to run it.
    case noUser
    /// Another server has the directory.
    case busy(directory: String, process: Int32?)
    /// The cluster belongs to somebody else.
    case foreign(data: String, owner: UInt32)
    /// A directory or file could not be made or read.
    case unusable(path: String, reason: String)
    /// A PostgreSQL program failed with this output.
    case failed(step: String, output: String)

    public var description: String {
        switch self {
        case .notInstalled(nil):
            "PostgreSQL is not installed: run script/server, or apt-get install postgresql, or set DATABASE_URL"
        case .notInstalled(let version?):
            "the private database was made by PostgreSQL \(version), which is not installed: "
                + "apt-get install postgresql-\(version), or move .chatterd/postgres away to begin anew"
        case .noUser:
            "PostgreSQL does not run as root, and there is no user postgres: make one, or start chatterd as another user"
        case .busy(let directory, let process):
            "another chatterd\(process.map { " (process \($0))" } ?? "") serves with \(directory): "
                + "stop it first, or start in another directory"
        case .foreign(let data, 0):
            "the database in \(data) belongs to root, as whom PostgreSQL does not run: chown -R postgres it"
        case .foreign(let data, let owner):
            "the database in \(data) belongs to user \(owner): start chatterd as that user, or move it away to begin anew"
        case .unusable(let path, let reason):
            "\(path): \(reason)"
        case .failed(let step, let output):
            "\(step) failed: \(output)"
        }
    }
}
