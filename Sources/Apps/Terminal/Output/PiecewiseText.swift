/// Text in UTF-8 that comes in pieces, which may end within a character.
struct PiecewiseText {
    /// The beginning of a character, 3 bytes at most.
    private var rest: [UInt8] = []

    /// Adds a piece. Returns the text up to its last whole character; bytes that are no UTF-8 become U+FFFD.
    mutating func append(_ piece: [UInt8]) -> String {
        let bytes = rest + piece
        let end = bytes.count - Self.unfinished(bytes)
        rest = Array(bytes[end...])
        return String(decoding: bytes[..<end], as: UTF8.self)
    }

    /// The text of what is left at the end.
    mutating func finish() -> String {
        defer { rest = [] }
        return String(decoding: rest, as: UTF8.self)
    }

    /// The number of bytes at the end that begin a character.
    private static func unfinished(_ bytes: [UInt8]) -> Int {
        for (index, byte) in bytes.suffix(3).reversed().enumerated() {
            let length =
                switch byte {
                case 0xC0...0xDF: 2
                case 0xE0...0xEF: 3
                case 0xF0...0xFF: 4
                default: 1
                }
            if length > 1 { return index + 1 < length ? index + 1 : 0 }
            if byte < 0x80 { return 0 }
        }
        return 0
    }
}
