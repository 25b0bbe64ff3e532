import CChatterdOpenSSL
import Glibc

/// The TLS of one stream. Confined to its shard.
///
/// Counts and codes are those of `recv` and `send`: `-EAGAIN` until the descriptor is ready, another negative number for an
/// error, of which `failure` is the one that only TLS can have.
final class TLSSession {
    /// The session is broken, see `reason`.
    static let failure = Int.min

    private let pointer: OpaquePointer
    /// The next read waits until the descriptor can be written, as TLS itself has something to send.
    private(set) var readWaitsForRoom = false
    /// The next write waits until the peer has said something.
    private(set) var writeWaitsForPeer = false
    /// Whether the connection ended without the peer's saying so: what came may be cut.
    private(set) var isTruncated = false
    private(set) var isEstablished = false
    private var hasSaidEnd = false

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        copenssl_session_free(pointer)
    }

    /// Tells that there may be something to read; with `isLast`, that no further news will come.
    func becameReadable(isLast: Bool) {
        copenssl_became_readable(pointer, isLast ? 1 : 0)
    }

    /// Goes on with the handshake; 1 when it is done.
    func handshake() -> Int {
        let result = Int(copenssl_handshake(pointer))
        isEstablished = result == 1
        readWaitsForRoom = result == COPENSSL_WANTS_WRITE
        return isEstablished ? 1 : error(result)
    }

    /// Reads; 0 at the end.
    func read(into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        let count = copenssl_read(pointer, buffer.baseAddress, buffer.count)
        readWaitsForRoom = count == COPENSSL_WANTS_WRITE
        switch count {
        case 1..., COPENSSL_END:
            return count
        case COPENSSL_TRUNCATED:
            isTruncated = true
            return 0
        default:
            return error(count)
        }
    }

    /// Writes; what could not be written comes again, with or without more behind it.
    func write(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        let count = copenssl_write(pointer, bytes.baseAddress, bytes.count)
        writeWaitsForPeer = count == COPENSSL_WANTS_READ
        return count > 0 ? count : error(count)
    }

    /// Says that this side sends no more; 1 when that is sent.
    func shutdown() -> Int {
        // A second call would wait for the peer's.
        guard !hasSaidEnd else { return 1 }
        let result = copenssl_shutdown(pointer)
        hasSaidEnd = result == 1
        return hasSaidEnd ? 1 : error(Int(result))
    }

    /// Why the session is broken, for people.
    var reason: String {
        var reason = [CChar](repeating: 0, count: 256)
        copenssl_session_reason(pointer, &reason, reason.count)
        return String(nullTerminated: reason)
    }

    private func error(_ code: Int) -> Int {
        guard code != COPENSSL_WANTS_READ, code != COPENSSL_WANTS_WRITE else { return -Int(EAGAIN) }
        let number = copenssl_session_errno(pointer)
        return number == 0 ? Self.failure : -Int(number)
    }
}
