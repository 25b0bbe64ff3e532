import ChatterdBasics

/// Unsent output of a stream behind its buffer: large parts, which are sent from where they are, and the bytes written after them.
///
/// Only a request with a long conversation has such output (docs/decisions/0037-requests-in-parts.md). Confined to the stream's shard.
final class SharedOutput {
    /// The minimum size of a part that is shared, in bytes. A smaller part is copied, which saves a system call.
    static let partSize = 16_384

    private var parts = Queue<SharedBytes>()
    /// The sent bytes of the first part.
    private var sentOfFirst = 0
    /// The number of unsent bytes.
    private(set) var count = 0

    /// Whether all output is sent.
    var isEmpty: Bool { count == 0 }

    /// Appends a part without copying it.
    func append(_ part: SharedBytes) {
        guard part.count > 0 else { return }
        parts.append(part)
        count += part.count
    }

    /// Lets `body` append bytes.
    func write(_ body: (inout ByteBuffer) -> Void) {
        var bytes = ByteBuffer()
        body(&bytes)
        append(SharedBytes(bytes))
    }

    /// Sends the next part, or the rest of it. Returns the result of `send`: the number of sent bytes, or a negative error.
    func sendNext(_ send: (UnsafeBufferPointer<UInt8>) -> Int) -> Int {
        guard let part = parts.first else { return 0 }
        let sent = part.bytes.extracting(droppingFirst: sentOfFirst).withUnsafeBufferPointer(send)
        guard sent > 0 else { return sent }
        count -= sent
        sentOfFirst += sent
        if sentOfFirst == part.count {
            _ = parts.popFirst()
            sentOfFirst = 0
        }
        return sent
    }
}
