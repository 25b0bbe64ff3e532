import ChatterdBasics

/// Percent-decoding of paths, RFC 3986 section 2.1, for routing.
enum PathDecoding {
    /// Decodes a path, and refuses an ambiguous one.
    static func decode(_ raw: String) throws(HTTPError) -> String {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(raw.utf8.count)
        var segment = 0
        var rest = raw.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "/") {
                try refuseDots(decoded[segment...])
                decoded.append(byte)
                segment = decoded.count
            } else if byte == UInt8(ascii: "%") {
                let value = try escape(&rest)
                if value == UInt8(ascii: "/") {
                    decoded.append(contentsOf: [UInt8(ascii: "%"), UInt8(ascii: "2"), UInt8(ascii: "F")])
                } else {
                    decoded.append(value)
                }
            } else {
                decoded.append(byte)
            }
        }
        try refuseDots(decoded[segment...])
        guard UTF8Repair.isValid(decoded.readable) else { throw HTTPError(.unsafePath) }
        return String(decoding: decoded, as: UTF8.self)
    }

    private static func escape(_ rest: inout Substring.UTF8View) throws(HTTPError) -> UInt8 {
        guard let first = rest.popFirst(), let second = rest.popFirst(), let high = first.hexDigitValue,
            let low = second.hexDigitValue
        else { throw HTTPError(.unsafePath) }
        let value = high << 4 | low
        guard value >= 0x20, value != 0x7F else { throw HTTPError(.unsafePath) }
        return value
    }

    /// RFC 3986 5.2.4: clients remove dot segments, so one that arrives is an attempt to leave a directory.
    private static func refuseDots(_ segment: ArraySlice<UInt8>) throws(HTTPError) {
        if segment.elementsEqual([UInt8(ascii: ".")]) || segment.elementsEqual([UInt8(ascii: "."), UInt8(ascii: ".")]) {
            throw HTTPError(.unsafePath)
        }
    }
}
