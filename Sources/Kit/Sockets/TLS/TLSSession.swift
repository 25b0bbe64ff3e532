import CChatterdOpenSSL
import Glibc

/// The TLS session of one stream. Confined to its shard.
///
/// Results are those of `recv` and `send`: a count, `-EAGAIN` until the descriptor is ready, or another negative number for an error.
/// `failure` is the error of TLS itself.
final class TLSSession {
    /// The session is broken; `reason` says why.
    static let failure = Int.min

    private let pointer: OpaquePointer
    /// Whether the next read waits until the descriptor can be written, because TLS itself has bytes to send.
    private(set) var readWaitsForRoom = false
    /// Whether the next write waits for bytes of the peer.
    private(set) var writeWaitsForPeer = false
    /// Whether the connection ended without the close alert of the peer, so that the bytes read may be incomplete.
    private(set) var isTruncated = false
    /// Whether the handshake is complete.
    private(set) var isEstablished = false
    /// Whether the close alert is sent.
    private var hasSentEnd = false

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        copenssl_session_free(pointer)
    }

    /// Tells OpenSSL that the descriptor became readable; `isLast` means that no further edge will follow.
    func becameReadable(isLast: Bool) {
        copenssl_became_readable(pointer, isLast ? 1 : 0)
    }

    /// Continues the handshake. Returns 1 when it is complete.
    func handshake() -> Int {
        let result = Int(copenssl_handshake(pointer))
        isEstablished = result == 1
        readWaitsForRoom = result == COPENSSL_WANTS_WRITE
        return isEstablished ? 1 : error(result)
    }

    /// Reads bytes. Returns 0 at the end.
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

    /// Writes bytes. The next call begins with those that were not written.
    func write(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        let count = copenssl_write(pointer, bytes.baseAddress, bytes.count)
        writeWaitsForPeer = count == COPENSSL_WANTS_READ
        return count > 0 ? count : error(count)
    }

    /// The number of bytes that the system has accepted since the session began, those of TLS itself included.
    var sentCount: Int { copenssl_sent_count(pointer) }

    /// Sends the close alert. Returns 1 when it is sent.
    func shutdown() -> Int {
        // A second call would wait for the alert of the peer.
        guard !hasSentEnd else { return 1 }
        let result = copenssl_shutdown(pointer)
        hasSentEnd = result == 1
        return hasSentEnd ? 1 : error(Int(result))
    }

    /// The reason of a broken session, for people.
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
