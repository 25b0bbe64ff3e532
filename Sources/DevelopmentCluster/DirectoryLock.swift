import Glibc

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
