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

/// A lock on a file that ends with the process, however it ends; the file says which process has it.
final class DirectoryLock: Sendable {
    private let descriptor: Int32

    /// Takes the lock.
    ///
    /// - Throws: `busy` when another process, or another lock of this one, has it.
    init(path: String) throws(DevelopmentClusterError) {
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw .unusable(path: path, reason: reason()) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let holder = withUnsafeTemporaryAllocation(byteCount: 16, alignment: 1) { buffer in
                let count = pread(descriptor, buffer.baseAddress, buffer.count, 0)
                return Int32(String(decoding: buffer.prefix(max(0, count)), as: UTF8.self))
            }
            throw .busy(directory: String(path.dropLast("/lock".count)), process: holder)
        }
        let process = String(getpid())
        ftruncate(descriptor, 0)
        _ = process.withCString { pwrite(descriptor, $0, process.utf8.count, 0) }
    }

    /// Lets go early; the lock must not be used after.
    func release() {
        flock(descriptor, LOCK_UN)
    }

    deinit {
        // A program that is being started may have a copy of the descriptor for a moment longer.
        release()
        close(descriptor)
    }
}

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
