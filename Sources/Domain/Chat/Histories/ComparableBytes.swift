import ChatterdBasics

/// Texts and JSON values in a form in which what counts as equal is equal byte by byte: the order of members, white space and the spelling
/// of numbers and texts do not count, and members that are null count as absent.
struct ComparableBytes {
    /// The length from which a number is compared as it is spelt, in bytes.
    private static let longNumber = 64

    private(set) var bytes: [UInt8] = []

    init() {
        // Room for a digest with the parts of a short message.
        bytes.reserveCapacity(96)
    }

    /// Appends a text with its length, so that two texts in a row do not equal two others.
    mutating func append(_ text: String) {
        append(text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }

    /// Appends such bytes.
    mutating func append(_ other: [UInt8]) {
        bytes.append(contentsOf: other)
    }

    /// Appends a number of eight bytes.
    mutating func append(_ number: Int) {
        append(UInt64(bitPattern: Int64(number)))
    }

    private mutating func append(_ bits: UInt64) {
        withUnsafeBytes(of: bits.bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// Appends the next value of a JSON text, in one pass over it.
    mutating func append(valueOf reader: inout JSONReader) throws(JSONError) {
        switch try reader.kind() {
        case .null:
            bytes.append(UInt8(ascii: "0"))
            try reader.skipValue()
        case .boolean: bytes.append(try reader.boolean() ? UInt8(ascii: "t") : UInt8(ascii: "f"))
        case .number:
            let range = try reader.skipValue()
            append(number: reader.bytes.extracting(range))
        case .string:
            bytes.append(UInt8(ascii: "s"))
            append(String(decodingJSON: reader.bytes.extracting(try reader.string().range)))
        case .array:
            bytes.append(UInt8(ascii: "["))
            try reader.beginArray()
            while try reader.nextElement() { try append(valueOf: &reader) }
            bytes.append(UInt8(ascii: "]"))
        case .object:
            try append(membersOf: &reader)
        }
    }

    /// Appends a number by its value, or as it is spelt if no double holds it exactly.
    private mutating func append(number: Span<UInt8>) {
        let text = String(decodingJSON: number)
        if number.count < Self.longNumber, let value = Double(text), value.magnitude < 0x1p53 {
            bytes.append(UInt8(ascii: "d"))
            append(value == 0 ? 0 : value.bitPattern)
        } else {
            bytes.append(UInt8(ascii: "n"))
            append(text)
        }
    }

    private mutating func append(membersOf reader: inout JSONReader) throws(JSONError) {
        let start = bytes.count
        var members: [ExactText: HistoryDigest] = [:]
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let name = ExactText(String(decodingJSON: reader.bytes.extracting(key.range)))
            let isNull = try reader.kind() == .null
            try append(valueOf: &reader)
            // Of two equal names the last one counts.
            members[name] = isNull ? nil : HistoryDigest(of: bytes.span.extracting(start..<bytes.count))
            bytes.removeLast(bytes.count - start)
        }
        append(members: members.map { ($0.key.text, $0.value) })
    }

    private mutating func append(members: [(name: String, value: HistoryDigest)]) {
        bytes.append(UInt8(ascii: "{"))
        append(members.count)
        for (name, value) in members.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }) {
            append(name)
            append(value)
        }
    }

    mutating func append(_ digest: HistoryDigest) {
        append(digest.high)
        append(digest.low)
    }
}

extension JSONSlice {
    /// The value in a form in which equal values are equal byte by byte, however they are spelt.
    public var comparableBytes: [UInt8] {
        var reader = self.reader
        var all = ComparableBytes()
        // The text is JSON, so that its value can be read.
        try? all.append(valueOf: &reader)
        return all.bytes
    }
}
