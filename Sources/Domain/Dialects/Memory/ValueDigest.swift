import ChatterdBasics

/// A JSON value as a number, for comparisons: the order of members, white space and the spelling of numbers and texts do not count, and
/// members that are null count as absent.
///
/// It is made in one pass over the text. Different values have equal digests once in 2⁶⁴ cases, which no client can provoke: the hash has a
/// random seed in each process.
struct ValueDigest: Hashable {
    /// The length from which a number is compared as it is spelt, in bytes.
    fileprivate static let longNumber = 64

    private let bits: Int

    /// The digest of an object without members.
    static let emptyObject = ValueDigest(bits: sum(of: [:]))

    /// Reads the next value of a text.
    init(reading reader: inout JSONReader) throws(JSONError) {
        let kind = try reader.kind()
        var hasher = Hasher()
        hasher.combine(kind)
        switch kind {
        case .null: try reader.skipValue()
        case .boolean: hasher.combine(try reader.boolean())
        case .number: hasher.combine(number: reader.bytes.extracting(try reader.skipValue()))
        case .string:
            hasher.combine(ExactText(String(decodingJSON: reader.bytes.extracting(try reader.string().range))))
        case .array:
            try reader.beginArray()
            while try reader.nextElement() { hasher.combine(try ValueDigest(reading: &reader)) }
        case .object:
            bits = Self.sum(of: try Self.members(&reader))
            return
        }
        bits = hasher.finalize()
    }

    private init(bits: Int) {
        self.bits = bits
    }

    /// A sum does not depend on the order.
    private static func sum(of members: [ExactText: ValueDigest]) -> Int {
        members.reduce(0) { sum, member in
            var hasher = Hasher()
            hasher.combine(JSONKind.object)
            hasher.combine(member.key)
            hasher.combine(member.value)
            return sum &+ hasher.finalize()
        }
    }

    private static func members(_ reader: inout JSONReader) throws(JSONError) -> [ExactText: ValueDigest] {
        var members: [ExactText: ValueDigest] = [:]
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let name = ExactText(String(decodingJSON: reader.bytes.extracting(key.range)))
            let isNull = try reader.kind() == .null
            let digest = try ValueDigest(reading: &reader)
            // Of two equal names the last one counts.
            members[name] = isNull ? nil : digest
        }
        return members
    }
}

extension Hasher {
    /// Adds a number by its value, or as it is spelt if no double holds it exactly.
    fileprivate mutating func combine(number: Span<UInt8>) {
        let text = String(decodingJSON: number)
        if number.count < ValueDigest.longNumber, let value = Double(text), value.magnitude < 0x1p53 {
            combine(true)
            combine(value)
        } else {
            combine(false)
            combine(ExactText(text))
        }
    }
}
