#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension Span<UInt8> {
    /// Whether other bytes follow from `index` on.
    public func holds(_ other: Span<UInt8>, at index: Int) -> Bool {
        guard index >= 0, other.count <= count - index else { return false }
        return extracting(index..<(index &+ other.count)).withUnsafeBytes { here in
            other.withUnsafeBytes { there in
                guard let first = here.baseAddress, let second = there.baseAddress else { return true }
                return memcmp(first, second, there.count) == 0
            }
        }
    }

    /// Reads the inside of a JSON string that begins at `start`, up to its closing quote, if the string is plain: UTF-8 without escapes
    /// of characters that cannot be stored. `nil` for any other string; a `JSONReader` tells whether it is valid.
    public func plainJSONString(from start: Int) -> JSONString? {
        var index = start
        var hasEscapes = false
        var bits: UInt64 = 0
        while true {
            index = firstToEscape(from: index, collecting: &bits)
            guard index < count else { return nil }
            switch self[index] {
            case UInt8(ascii: "\""):
                guard JSONWord.isASCII(bits) || UTF8Repair.isValid(extracting(start..<index)) else { return nil }
                return JSONString(range: start..<index, hasEscapes: hasEscapes)
            case UInt8(ascii: "\\"):
                guard index + 1 < count else { return nil }
                switch self[index + 1] {
                case UInt8(ascii: "n"), UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "t"), UInt8(ascii: "r"),
                    UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"):
                    hasEscapes = true
                    index += 2
                case UInt8(ascii: "u"):
                    let escape = JSONEscape(in: self, at: index)
                    guard !escape.isUnstorable else { return nil }
                    hasEscapes = true
                    index += escape.length
                default: return nil
                }
            default: return nil
            }
        }
    }
}
