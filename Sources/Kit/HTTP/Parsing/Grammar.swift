#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The byte classes of RFC 9110 section 5.6 and RFC 3986.
enum Grammar {
    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20

    /// RFC 9110 5.6.2: tchar.
    @inline(__always)
    static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
            UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default:
            false
        }
    }

    /// RFC 9110 5.5: field-vchar, SP and HTAB; also the bytes of a reason phrase (RFC 9112 4).
    @inline(__always)
    static func isTextByte(_ byte: UInt8) -> Bool {
        (byte >= 0x20 && byte != 0x7F) || byte == tab
    }

    /// RFC 9110 5.6.3: OWS.
    @inline(__always)
    static func isBlank(_ byte: UInt8) -> Bool {
        byte == space || byte == tab
    }

    @inline(__always)
    static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }

    /// RFC 3986 2.3 and 2.2: unreserved and sub-delims.
    static func isNameByteOfURI(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        case UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "("),
            UInt8(ascii: ")"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: ";"),
            UInt8(ascii: "="):
            true
        default:
            false
        }
    }

    @inline(__always)
    static func lowercase(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }

    static func isToken(_ text: some Sequence<UInt8>) -> Bool {
        var isEmpty = true
        for byte in text {
            guard isTokenByte(byte) else { return false }
            isEmpty = false
        }
        return !isEmpty
    }

    /// Compares text with an ASCII text in lower case, ignoring ASCII case.
    static func equals(_ text: Substring, lowercase other: StaticString) -> Bool {
        var rest = UnsafeBufferPointer(start: other.utf8Start, count: other.utf8CodeUnitCount)[...]
        for byte in text.utf8 {
            guard let next = rest.popFirst(), lowercase(byte) == next else { return false }
        }
        return rest.isEmpty
    }
}

extension Span<UInt8> {
    /// The index of the first occurrence of a byte at or after `start`.
    @inline(__always)
    func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        withUnsafeBufferPointer { bytes -> Int? in
            guard start < bytes.count, let base = bytes.baseAddress else { return nil }
            guard let hit = memchr(base + start, Int32(byte), bytes.count - start) else { return nil }
            return UnsafeRawPointer(hit) - UnsafeRawPointer(base)
        }
    }

    /// The bytes of a range as text; bytes that are not UTF-8 become U+FFFD.
    func text(_ range: Range<Int>) -> String {
        extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    /// The bytes of a range, which are ASCII, as text in lower case.
    func lowercaseText(_ range: Range<Int>) -> String {
        extracting(range).withUnsafeBufferPointer { bytes in
            String(unsafeUninitializedCapacity: bytes.count) { target in
                for index in bytes.indices {
                    target[index] = Grammar.lowercase(bytes[index])
                }
                return bytes.count
            }
        }
    }

    func equals(_ literal: StaticString, in range: Range<Int>) -> Bool {
        guard range.count == literal.utf8CodeUnitCount else { return false }
        return extracting(range).withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return true }
            return memcmp(base, literal.utf8Start, bytes.count) == 0
        }
    }
}
