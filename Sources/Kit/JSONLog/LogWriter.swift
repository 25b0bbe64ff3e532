import ChatterdBasics
import Glibc

/// Writes whole lines to a descriptor, a few at a time.
struct LogWriter: Sendable {
    let descriptor: Int32

    /// A pipe takes up to PIPE_BUF bytes in one piece, so that lines of several processes do not mix.
    private static let piece = 4_096

    /// Writes lines, each ended by LF. Drops those that cannot be written, as there is no other output to report that to.
    func write(_ lines: borrowing ByteBuffer) {
        let bytes = lines.bytes
        var start = 0
        while start < bytes.count {
            let end = Self.endOfPiece(bytes, from: start)
            guard write(bytes.extracting(start..<end)) else { return }
            start = end
        }
    }

    /// The end of the last line that ends within a piece, or of the first line if that is longer.
    private static func endOfPiece(_ bytes: Span<UInt8>, from start: Int) -> Int {
        guard bytes.count - start > piece else { return bytes.count }
        var end = start + piece
        while end > start, bytes[end - 1] != UInt8(ascii: "\n") { end -= 1 }
        if end > start { return end }
        end = start + piece
        while end < bytes.count, bytes[end - 1] != UInt8(ascii: "\n") { end += 1 }
        return end
    }

    private func write(_ bytes: Span<UInt8>) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count >= 0 {
                    rest = rest.dropFirst(count)
                } else if errno == EAGAIN {
                    // Another process with the same descriptor has made it non-blocking.
                    var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    guard Glibc.poll(&poll, 1, 1_000) != 0 else { return false }
                } else if errno != EINTR {
                    return false
                }
            }
            return true
        }
    }
}
