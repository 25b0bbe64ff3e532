/// A queue of bytes: appended at the end, removed from the front.
///
/// A buffer keeps its storage when it becomes empty, so that a pooled buffer needs no allocation once it has grown.
public struct ByteBuffer: Sendable {
    /// All bytes since the last compaction; those before `start` are removed.
    private var storage: [UInt8] = []
    private var start = 0

    /// Creates an empty buffer.
    public init() {}

    /// Creates a buffer with a capacity in bytes.
    public init(capacity: Int) {
        storage.reserveCapacity(capacity)
    }

    /// The number of bytes.
    public var count: Int { storage.count - start }

    /// Whether the buffer has no byte.
    public var isEmpty: Bool { storage.count == start }

    /// The number of bytes that fit without another allocation.
    public var capacity: Int { storage.capacity }

    public var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get {
            storage.readable.extracting(start..<storage.count)
        }
    }

    /// Grows the capacity for `count` more bytes. It grows by at least `step` bytes or a quarter, because doubling would leave more memory
    /// of a long-lived buffer unused.
    public mutating func makeRoom(for count: Int, step: Int) {
        guard storage.capacity - storage.count < count else { return }
        storage.reserveCapacity(storage.count + max(count, step, storage.count / 4))
    }

    /// Releases unused capacity.
    public mutating func trim() {
        guard storage.capacity > storage.count else { return }
        // A copy of the span, because an array of the whole slice would share the storage with its capacity.
        storage = bytes.array
        start = 0
    }

    /// Appends one byte.
    @inline(__always)
    public mutating func append(_ byte: UInt8) {
        storage.append(byte)
    }

    /// Appends the bytes of a span.
    public mutating func append(_ bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { storage.append(contentsOf: $0) }
    }

    /// Appends the bytes of an array.
    public mutating func append(_ bytes: [UInt8]) {
        storage.append(contentsOf: bytes)
    }

    /// Appends the bytes of another buffer.
    public mutating func append(_ other: ByteBuffer) {
        append(other.bytes)
    }

    /// Appends a literal.
    public mutating func append(_ text: StaticString) {
        storage.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends the UTF-8 of a string.
    public mutating func append(utf8 text: String) {
        var text = text
        text.withUTF8 { storage.append(contentsOf: $0) }
    }

    /// Appends a number in decimal digits.
    public mutating func append(decimal value: Int) {
        append(upTo: 20) { $0.append(decimal: value) }
    }

    /// Appends a number in decimal digits.
    public mutating func append(decimal value: UInt) {
        append(upTo: 20) { $0.append(decimal: value) }
    }

    /// Appends at most `count` bytes that `body` writes; does not call it for a `count` of 0. The capacity is checked once instead of for
    /// each part.
    public mutating func append(upTo count: Int, _ body: (inout OutputSpan<UInt8>) -> Void) {
        // An empty array shares its storage with all others; to append to it without capacity would write to that storage.
        guard count > 0 else { return }
        storage.append(addingCapacity: count, initializingWith: body)
    }

    /// A position in a buffer; valid until bytes are removed from the front.
    public struct Mark: Sendable {
        fileprivate let offset: Int
    }

    /// The position after the last byte.
    public var endMark: Mark { Mark(offset: storage.count - start) }

    /// The number of bytes after a mark.
    public func count(since mark: Mark) -> Int { count - mark.offset }

    /// Replaces the bytes after a mark by a number in as many hexadecimal digits, with leading zeros.
    public mutating func overwrite(after mark: Mark, with value: Int, digits: Int) {
        for index in 0..<digits {
            let digit = UInt8(truncatingIfNeeded: value >> (4 * (digits - 1 - index)) & 0xF)
            storage[start + mark.offset + index] =
                digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
        }
    }

    /// Removes the bytes after a mark.
    public mutating func truncate(to mark: Mark) {
        storage.removeSubrange((start + mark.offset)...)
    }

    /// Removes `count` bytes from the front.
    public mutating func removeFirst(_ count: Int) {
        precondition(count <= self.count, "the buffer has fewer bytes")
        start += count
        if start == storage.count {
            removeAll()
        } else if start > 65_536, start > storage.count / 2 {
            storage.removeSubrange(..<start)
            start = 0
        }
    }

    /// Empties the buffer, and keeps its storage.
    public mutating func removeAll() {
        start = 0
        guard !storage.isEmpty else { return }
        storage.removeAll(keepingCapacity: true)
    }
}

extension ByteBuffer {
    /// The bytes as an array.
    public var array: [UInt8] { Array(storage[start...]) }

    /// The bytes as text; bytes that are not UTF-8 become U+FFFD.
    public var string: String { String(decoding: storage[start...], as: UTF8.self) }
}
