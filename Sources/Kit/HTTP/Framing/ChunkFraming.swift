import ChatterdBasics

/// The chunked coding of RFC 9112 section 7.1, written around data that is already in the buffer.
///
/// The size is patched in afterwards, with leading zeros, so that data needs neither a copy nor a known length.
public enum ChunkFraming {
    /// The maximum data of one chunk, in bytes.
    public static let maximum = 0xFF_FFFF

    /// An open chunk; valid until bytes are removed from the front of the buffer.
    public struct Open: Sendable {
        fileprivate let mark: ByteBuffer.Mark
    }

    /// Begins a chunk. The bytes appended afterwards are its data.
    public static func begin(in buffer: inout ByteBuffer) -> Open {
        let mark = buffer.endMark
        buffer.append("000000\r\n")
        return Open(mark: mark)
    }

    /// Ends a chunk of at most `maximum` bytes. A chunk without data is removed, because it would end the body.
    public static func end(_ chunk: Open, in buffer: inout ByteBuffer) {
        let count = buffer.count(since: chunk.mark) - 8
        guard count > 0 else {
            buffer.truncate(to: chunk.mark)
            return
        }
        precondition(count <= maximum, "a chunk of more than 16 MiB")
        buffer.overwrite(after: chunk.mark, with: count, digits: 6)
        buffer.append("\r\n")
    }

    /// Ends the body.
    public static func appendLast(to buffer: inout ByteBuffer) {
        buffer.append("0\r\n\r\n")
    }
}
