extension Span<UInt8> {
    /// The index of the first byte from `start` on that a JSON string must escape; `count` if there is none.
    @inline(__always)
    func firstToEscape(from start: Int) -> Int {
        var bits: UInt64 = 0
        return firstToEscape(from: start, collecting: &bits)
    }

    /// The index of the first byte that a JSON string must escape; `count` if there is none. `bits` collects the bits of the bytes before
    /// it.
    @inline(__always)
    func firstToEscape(from start: Int, collecting bits: inout UInt64) -> Int {
        var index = start
        while index &+ 8 <= count {
            let word = word(at: index)
            let found = JSONWord.marksToEscape(word)
            if found != 0 {
                bits |= word & JSONWord.bytesBefore(found)
                return index &+ found.trailingZeroBitCount >> 3
            }
            bits |= word
            index &+= 8
        }
        while index < count, JSONWord.marksToEscape(JSONWord.repeating(self[index])) == 0 {
            bits |= UInt64(self[index])
            index &+= 1
        }
        return index
    }

    /// The index of the first backslash; `count` if there is none.
    func firstBackslash() -> Int {
        firstMarked(from: 0, by: JSONWord.marksOfBackslashes)
    }

    /// Eight bytes from `index` on.
    @inline(__always)
    func word(at index: Int) -> UInt64 {
        UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
    }

    @inline(__always)
    private func firstMarked(from start: Int, by marks: (UInt64) -> UInt64) -> Int {
        var index = start
        while index &+ 8 <= count {
            let found = marks(word(at: index))
            if found != 0 {
                return index &+ found.trailingZeroBitCount >> 3
            }
            index &+= 8
        }
        while index < count, marks(JSONWord.repeating(self[index])) == 0 { index &+= 1 }
        return index
    }
}

extension OutputSpan<UInt8> {
    /// Appends text as the inside of a JSON string. The capacity must allow 6 bytes for each byte, and 8 more.
    mutating func append(jsonEscaping text: Span<UInt8>) {
        var index = 0
        while true {
            index = append(text, from: index, until: JSONWord.marksToEscape)
            guard index < text.count else { return }
            append(escaped: text[index])
            index += 1
        }
    }

    /// Appends the text of the inside of a JSON string. The capacity must allow 3 bytes for each pair of bytes, and 11 more.
    mutating func append(decodingJSON text: Span<UInt8>) {
        var index = 0
        while true {
            index = append(text, from: index, until: JSONWord.marksOfBackslashes)
            guard index < text.count else { return }
            let escape = JSONEscape(in: text, at: index)
            for byte in UTF8.encode(escape.scalar) ?? UTF8.encodedReplacementCharacter {
                append(byte)
            }
            index += escape.length
        }
    }

    /// Copies the bytes before the first marked one, and returns its index.
    @inline(__always)
    private mutating func append(_ text: Span<UInt8>, from start: Int, until marks: (UInt64) -> UInt64) -> Int {
        withUnsafeMutableBufferPointer { buffer, count in
            let output = UnsafeMutableRawBufferPointer(buffer)
            var index = start
            while index &+ 8 <= text.count {
                let word = text.word(at: index)
                // All eight bytes are written. The next write replaces those from the mark on.
                output.storeBytes(of: word.littleEndian, toByteOffset: count, as: UInt64.self)
                let found = marks(word)
                if found != 0 {
                    let plain = found.trailingZeroBitCount >> 3
                    count &+= plain
                    return index &+ plain
                }
                index &+= 8
                count &+= 8
            }
            while index < text.count, marks(JSONWord.repeating(text[index])) == 0 {
                output[count] = text[index]
                index &+= 1
                count &+= 1
            }
            return index
        }
    }

    private mutating func append(escaped byte: UInt8) {
        append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): append(byte)
        case 0x08: append(UInt8(ascii: "b"))
        case 0x09: append(UInt8(ascii: "t"))
        case 0x0A: append(UInt8(ascii: "n"))
        case 0x0C: append(UInt8(ascii: "f"))
        case 0x0D: append(UInt8(ascii: "r"))
        default:
            append(UInt8(ascii: "u"))
            append(repeating: UInt8(ascii: "0"), count: 2)
            append(UInt8(ascii: "0") + byte >> 4)
            let digit = byte & 0x0F
            append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }
}
