extension OutputSpan<UInt8> {
    /// Appends the bytes of a span; there must be room.
    @inline(__always)
    mutating func append(copying bytes: Span<UInt8>) {
        precondition(bytes.count <= freeCapacity, "no room")
        withUnsafeMutableBufferPointer { target, count in
            bytes.withUnsafeBytes { source in
                UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(target)[count...])
                    .copyMemory(from: source)
            }
            count += bytes.count
        }
    }

    /// Appends a literal; there must be room.
    @inline(__always)
    mutating func append(_ text: StaticString) {
        let bytes = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        append(copying: bytes.span)
    }

    /// Appends a number in decimal digits, at most twenty bytes; there must be room.
    @inline(__always)
    mutating func append(decimal value: Int) {
        if value < 0 {
            append(UInt8(ascii: "-"))
        }
        var rest = value.magnitude
        var power: UInt = 1
        while rest / power >= 10 {
            power *= 10
        }
        while power > 0 {
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest / power))
            rest %= power
            power /= 10
        }
    }
}
