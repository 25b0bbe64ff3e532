import ChatterdBasics

/// A host with an optional port, RFC 9110 section 7.2.
enum Authority {
    /// Whether the bytes of a range are `uri-host [ ":" port ]`, with a host.
    ///
    /// A comma is refused, although a reg-name may contain one, because two Host lines that a proxy joined look like it.
    static func isValid(_ bytes: Span<UInt8>, in range: Range<Int>) -> Bool {
        guard !range.isEmpty else { return false }
        let hostEnd: Int
        if bytes[range.lowerBound] == UInt8(ascii: "[") {
            guard let end = endOfLiteral(bytes, in: range) else { return false }
            hostEnd = end
        } else {
            guard let end = endOfName(bytes, in: range) else { return false }
            hostEnd = end
        }
        return hostEnd == range.upperBound || isPort(bytes, in: hostEnd..<range.upperBound)
    }

    /// RFC 3986 3.2.2: IP-literal; IPv6 only, as no IPvFuture exists.
    private static func endOfLiteral(_ bytes: Span<UInt8>, in range: Range<Int>) -> Int? {
        var index = range.lowerBound + 1
        var colons = 0
        while index < range.upperBound {
            let byte = bytes[index]
            if byte == UInt8(ascii: "]") {
                return colons >= 2 ? index + 1 : nil
            }
            if byte == UInt8(ascii: ":") {
                colons += 1
            } else if byte.hexDigitValue == nil, byte != UInt8(ascii: ".") {
                return nil
            }
            index += 1
        }
        return nil
    }

    /// RFC 3986 3.2.2: reg-name, which IPv4 addresses are a part of.
    private static func endOfName(_ bytes: Span<UInt8>, in range: Range<Int>) -> Int? {
        var index = range.lowerBound
        while index < range.upperBound, bytes[index] != UInt8(ascii: ":") {
            let byte = bytes[index]
            if byte == UInt8(ascii: "%") {
                guard index + 2 < range.upperBound, let high = bytes[index + 1].hexDigitValue,
                    let low = bytes[index + 2].hexDigitValue, high << 4 | low > 0x20, high << 4 | low != 0x7F
                else { return nil }
                index += 2
            } else if !Grammar.isNameByteOfURI(byte) || byte == UInt8(ascii: ",") {
                return nil
            }
            index += 1
        }
        return index > range.lowerBound ? index : nil
    }

    /// `":" *DIGIT`, at most 65535.
    private static func isPort(_ bytes: Span<UInt8>, in range: Range<Int>) -> Bool {
        guard bytes[range.lowerBound] == UInt8(ascii: ":"), range.count <= 6 else { return false }
        var port = 0
        for index in range.dropFirst() {
            guard Grammar.isDigit(bytes[index]) else { return false }
            port = port * 10 + Int(bytes[index] - UInt8(ascii: "0"))
        }
        return port <= 65535
    }
}
