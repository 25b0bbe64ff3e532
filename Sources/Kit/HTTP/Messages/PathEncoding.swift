import ChatterdBasics

/// Percent-encoding of paths, RFC 3986 section 2.1.
public enum PathEncoding {
    /// A text as one segment of a path: all bytes but the unreserved ones (RFC 3986 2.3) are encoded.
    public static func segment(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.append(byte)
            default:
                encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// A name as one segment of a path. Clients and proxies remove the segments `.` and `..` (RFC 3986 5.2.4), also encoded ones, so that
    /// these names get U+0080 in front, which is in no name.
    public static func name(_ name: String) -> String {
        segment(isDots(name) ? mark + name : name)
    }

    /// The name that a decoded segment stands for.
    public static func name(ofSegment segment: String) -> String {
        guard segment.hasPrefix(mark) else { return segment }
        let name = String(segment.dropFirst())
        return isDots(name) ? name : segment
    }

    private static let mark = "\u{80}"

    private static func isDots(_ name: String) -> Bool { name == "." || name == ".." }
}
