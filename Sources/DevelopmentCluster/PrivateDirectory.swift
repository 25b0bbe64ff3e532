import Glibc

/// The text of the last failed call.
func reason() -> String { String(cString: strerror(errno)) }

/// A directory that this program makes for itself.
enum PrivateDirectory {
    /// Makes `path` unless it is there, and returns it without links and dots.
    static func make(_ path: String) throws(DevelopmentClusterError) -> String {
        guard mkdir(path, 0o755) == 0 || errno == EEXIST, let real = realpath(path, nil) else {
            throw .unusable(path: path, reason: reason())
        }
        defer { free(real) }
        return String(cString: real)
    }
}
