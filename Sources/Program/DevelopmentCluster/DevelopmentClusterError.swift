/// Why there is no private PostgreSQL. The description says what to do about it.
public enum DevelopmentClusterError: Error, Equatable, CustomStringConvertible {
    /// The programs of PostgreSQL, or those of the version that made the cluster, are missing.
    case notInstalled(version: String?)
    /// The process is root, and there is no user `postgres` to run PostgreSQL, which refuses root.
    case noUser
    /// Another server uses the directory.
    case busy(directory: String, process: Int32?)
    /// The cluster belongs to another user.
    case foreign(data: String, owner: UInt32)
    /// A directory or file cannot be created or read.
    case unusable(path: String, reason: String)
    /// A program of PostgreSQL failed with this output.
    case failed(step: String, output: String)

    /// The error of the last system call, which failed on a path.
    static func unusable(_ path: String) -> DevelopmentClusterError {
        .unusable(path: path, reason: SystemMessage.last)
    }

    public var description: String {
        switch self {
        case .notInstalled(nil):
            "PostgreSQL is not installed: apt-get install postgresql, or set DATABASE_URL"
        case .notInstalled(let version?):
            "the private database was made by PostgreSQL \(version), which is not installed: "
                + "apt-get install postgresql-\(version), or move .chatterd/postgres away to begin with an empty one"
        case .noUser:
            "PostgreSQL does not run as root, and there is no user postgres: install PostgreSQL, whose package makes one, "
                + "or start chatterd as another user"
        case .busy(let directory, let process):
            "another chatterd\(process.map { " (process \($0))" } ?? "") serves with \(directory): "
                + "stop it first, or start in another directory"
        case .foreign(let data, 0):
            "the database in \(data) belongs to root, as whom PostgreSQL does not run: chown -R postgres it"
        case .foreign(let data, let owner):
            "the database in \(data) belongs to user \(owner): start chatterd as that user, "
                + "or move it away to begin with an empty one"
        case .unusable(let path, let reason):
            "\(path): \(reason)"
        case .failed(let step, let output):
            "\(step) failed: \(output)"
        }
    }
}
