import ChatterdBasics

/// One part of a reply as it grows. Its end is in memory; what stands before may be in the journal only.
struct ReplyPart {
    /// The least that is made room for, in bytes.
    private static let step = 240

    /// The bytes that were let go.
    private(set) var start = 0
    private var bytes = ByteBuffer()

    /// All bytes that were ever appended; kept, as it is asked for with every token.
    private(set) var count = 0

    /// Appends the inside of a JSON string, decoded.
    mutating func append(decodingJSON text: Span<UInt8>) {
        // What escapes need at worst.
        bytes.makeRoom(for: text.count / 2 * 3 + 16, step: Self.step)
        bytes.append(decodingJSON: text)
        count = start + bytes.count
    }

    /// Appends the elements of a JSON array behind those that are there.
    mutating func append(elements: Span<UInt8>) {
        if count > 0 {
            bytes.append(UInt8(ascii: ","))
        }
        bytes.append(elements)
        count = start + bytes.count
    }

    /// What stands in a range, which must not begin before `start`.
    func bytes(in range: Range<Int>) -> [UInt8] {
        guard !range.isEmpty else { return [] }
        let all = bytes.bytes
        return all.extracting((range.lowerBound - start)..<(range.upperBound - start)).withUnsafeBufferPointer {
            Array($0)
        }
    }

    /// The bytes of a range that does not start before `start`, without a copy.
    @_lifetime(borrow self)
    func span(_ range: Range<Int>) -> Span<UInt8> {
        bytes.bytes.extracting((range.lowerBound - start)..<(range.upperBound - start))
    }

    /// Lets go of what stands before `end` but for the last `kept` bytes of it, once that is worth it.
    mutating func letGo(before end: Int, keeping kept: Int) {
        guard end - start > 2 * kept else { return }
        bytes.removeFirst(end - kept - start)
        start = end - kept
    }
}
