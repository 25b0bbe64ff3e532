import Glibc

/// A lock on a file that contains the number of the process with the lock. The lock ends with the process.
final class DirectoryLock: Sendable {
    private let descriptor: Int32

    /// Acquires the lock.
    ///
    /// - Throws: `busy` if another process, or another lock of this one, has it.
    init(path: String) throws(DevelopmentClusterError) {
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw .unusable(path) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw .busy(directory: String(path.dropLast("/lock".count)), process: Self.holder(descriptor))
        }
        let process = String(getpid())
        ftruncate(descriptor, 0)
        _ = process.withCString { pwrite(descriptor, $0, process.utf8.count, 0) }
    }

    private static func holder(_ descriptor: Int32) -> Int32? {
        withUnsafeTemporaryAllocation(byteCount: 16, alignment: 1) { buffer in
            let count = pread(descriptor, buffer.baseAddress, buffer.count, 0)
            return Int32(String(decoding: buffer.prefix(max(0, count)), as: UTF8.self))
        }
    }

    /// Releases the lock early. It must not be used afterwards.
    func release() {
        flock(descriptor, LOCK_UN)
    }

    deinit {
        // A program that is being started may keep a copy of the descriptor for a moment, so closing is not enough.
        release()
        close(descriptor)
    }
}
