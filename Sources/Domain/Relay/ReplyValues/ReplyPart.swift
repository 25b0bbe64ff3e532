import ChatterdBasics
import ChatterdChat

/// One part of a growing reply. Its end is in memory; the content before it may be in the journal only.
struct ReplyPart {
    /// The minimum by which the memory grows, in bytes.
    private static let step = 240

    /// The number of discarded bytes.
    private(set) var start = 0
    private var bytes = ByteBuffer()

    /// The number of all appended bytes; stored because it is read for every token.
    private(set) var count = 0

    /// Appends the inside of a JSON string, decoded.
    mutating func append(decodingJSON text: Span<UInt8>) {
        // The maximum size of decoded escapes.
        bytes.makeRoom(for: text.count / 2 * 3 + 16, step: Self.step)
        bytes.append(decodingJSON: text)
        count = start + bytes.count
    }

    /// Appends the texts of the tokens of a run, decoded; `ends` gets the bytes of the part after each.
    mutating func append(textOf lines: LineRun, ends: inout InlineArray<64, Int>) {
        // The maximum size of decoded escapes.
        bytes.makeRoom(for: lines.answerSize / 2 * 3 + 16, step: Self.step)
        for index in 0..<lines.count {
            if lines.hasEscapes(inToken: index) {
                bytes.append(decodingJSON: lines.text(ofToken: index))
            } else {
                bytes.append(lines.text(ofToken: index))
            }
            ends[index] = start + bytes.count
        }
        count = start + bytes.count
    }

    /// Appends the elements of a JSON array to the existing ones.
    mutating func append(elements: Span<UInt8>) {
        if count > 0 {
            bytes.append(UInt8(ascii: ","))
        }
        bytes.append(elements)
        count = start + bytes.count
    }

    /// The bytes of a range, which must not begin before `start`.
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

    /// Discards the bytes before `end` except the last `kept` ones, if there are enough of them.
    mutating func discard(before end: Int, keeping kept: Int) {
        guard end - start > 2 * kept else { return }
        bytes.removeFirst(end - kept - start)
        start = end - kept
    }
}
