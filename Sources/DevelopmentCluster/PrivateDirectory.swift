import Glibc

/// A directory that this program creates for itself.
enum PrivateDirectory {
    /// Creates a directory unless it exists. Returns its path without links and dots.
    static func create(_ path: String) throws(DevelopmentClusterError) -> String {
        guard mkdir(path, 0o755) == 0 || errno == EEXIST, let real = realpath(path, nil) else {
            throw .unusable(path)
        }
        defer { free(real) }
        return String(cString: real)
    }
}
