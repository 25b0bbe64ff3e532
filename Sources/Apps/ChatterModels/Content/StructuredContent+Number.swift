extension StructuredContent {
    /// The number of a JSON text (RFC 8259, section 6); `nil` if the bytes are none, or it is too large for `Double`.
    init?(number bytes: [UInt8]) {
        guard Self.isNumber(bytes) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        if let integer = Int(text) {
            self = .integer(integer)
        } else if let number = Double(text), number.isFinite {
            self = .number(number)
        } else {
            return nil
        }
    }

    /// Whether bytes are `-? (0 | [1-9][0-9]*) ('.' [0-9]+)? ([eE] [+-]? [0-9]+)?`.
    private static func isNumber(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        func skip(_ choices: UInt8...) -> Bool {
            guard let first = rest.first, choices.contains(first) else { return false }
            rest.removeFirst()
            return true
        }
        /// The number of digits that are skipped.
        func skipDigits() -> Int {
            let count = rest.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }.count
            rest.removeFirst(count)
            return count
        }
        _ = skip(UInt8(ascii: "-"))
        guard skip(UInt8(ascii: "0")) || skipDigits() > 0 else { return false }
        if skip(UInt8(ascii: ".")), skipDigits() == 0 { return false }
        if skip(UInt8(ascii: "e"), UInt8(ascii: "E")) {
            _ = skip(UInt8(ascii: "+"), UInt8(ascii: "-"))
            guard skipDigits() > 0 else { return false }
        }
        return rest.isEmpty
    }
}
