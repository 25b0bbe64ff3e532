import Glibc

/// A path to a socket's directory that fits where the directory's own does not.
///
/// A socket's address holds 107 bytes, and libpq reads a comma as the end of a host's name.
struct SocketShortcut: Sendable {
    /// The directory itself, or a link to it in a directory of this user under /tmp.
    let path: String
    private let made: String?

    init(to directory: String) throws(DevelopmentClusterError) {
        if directory.utf8.count + "/.s.PGSQL.5432".utf8.count <= 107, !directory.contains(",") {
            path = directory
            made = nil
            return
        }
        var template = Array("/tmp/chatterd-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw .unusable(path: "/tmp", reason: reason()) }
        let parent = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        made = parent
        path = parent + "/postgres"
        guard symlink(directory, path) == 0 else { throw .unusable(path: path, reason: reason()) }
    }

    func remove() {
        guard let made else { return }
        unlink(path)
        rmdir(made)
    }
}
