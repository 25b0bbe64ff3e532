extension Span<UInt8> {
    /// Whether both have the same bytes.
    public func isEqual(to other: Span<UInt8>) -> Bool {
        count == other.count && holds(other, at: 0)
    }

    /// Whether the bytes equal a literal in UTF-8.
    @inlinable public func isEqual(to text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        for index in 0..<count where self[index] != text.utf8Start[index] {
            return false
        }
        return true
    }
}
