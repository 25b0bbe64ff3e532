extension OutputSpan<UInt8> {
    /// Appends the bytes of a span; there must be room.
    @inlinable @inline(__always)
    public mutating func append(copying bytes: Span<UInt8>) {
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
    @inlinable @inline(__always)
    public mutating func append(_ text: StaticString) {
        let bytes = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        append(copying: bytes.span)
    }

    /// Appends a number in decimal digits, at most twenty bytes; there must be room.
    @inlinable @inline(__always)
    public mutating func append(decimal value: Int) {
        if value < 0 {
            append(UInt8(ascii: "-"))
        }
        append(decimal: value.magnitude)
    }

    /// Appends a number in decimal digits, at most twenty bytes; there must be room.
    @inlinable
    public mutating func append(decimal value: UInt) {
        // Divisions by a constant only: one by a variable takes as long as all the rest.
        var digits = 1
        var rest = value / 10
        while rest > 0 {
            digits &+= 1
            rest /= 10
        }
        precondition(digits <= freeCapacity, "no room")
        withUnsafeMutableBufferPointer { target, count in
            rest = value
            count &+= digits
            var index = count
            repeat {
                index &-= 1
                target[index] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
        }
    }
}
