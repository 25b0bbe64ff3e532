import ChatterdBasics

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Messages over the standard input and output: eight bytes with the length, the lowest first, and JSON.
enum MessageChannel {
    /// The largest message, in bytes: a source file with its context.
    private static let limit = 256 << 20

    /// The next message; `nil` at the end of the input.
    static func next() -> [UInt8]? {
        guard let head = bytes(8) else { return nil }
        let length = head.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard length <= limit else { return nil }
        return bytes(Int(length))
    }

    static func send(_ message: ByteBuffer) {
        let length = UInt64(message.count)
        var bytes = (0..<8).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) }
        bytes += message.array
        bytes.withUnsafeBytes { buffer in
            var sent = 0
            while sent < buffer.count {
                let rest = UnsafeRawBufferPointer(rebasing: buffer[sent...])
                let count = write(1, rest.baseAddress, rest.count)
                // The compiler has ended.
                guard count > 0 else { exit(1) }
                sent += count
            }
        }
    }

    private static func bytes(_ count: Int) -> [UInt8]? {
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while initialized < count {
                let rest = UnsafeMutableBufferPointer(rebasing: buffer[initialized...])
                let received = read(0, rest.baseAddress, rest.count)
                guard received > 0 else { return }
                initialized += received
            }
        }
        return bytes.count == count ? bytes : nil
    }
}
