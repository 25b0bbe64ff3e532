import Glibc

/// A path to the directory of a socket that is short enough for the socket's address.
///
/// The address of a socket holds 107 bytes, and libpq reads a comma as the end of a host's name.
struct SocketShortcut: Sendable {
    /// The directory itself, or a link to it in a directory of this user under /tmp.
    let path: String
    /// The directory of the link; `nil` if there is no link.
    private let created: String?

    init(to directory: String) throws(DevelopmentClusterError) {
        if directory.utf8.count + "/.s.PGSQL.5432".utf8.count <= 107, !directory.contains(",") {
            path = directory
            created = nil
            return
        }
        var template = Array("/tmp/chatterd-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw .unusable("/tmp") }
        let parent = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        created = parent
        path = parent + "/postgres"
        guard symlink(directory, path) == 0 else { throw .unusable(path) }
    }

    func remove() {
        guard let created else { return }
        unlink(path)
        rmdir(created)
    }
}
