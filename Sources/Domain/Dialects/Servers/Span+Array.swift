import ChatterdBasics

extension Span<UInt8> {
    /// A copy of the bytes of a range; none for `nil`.
    func array(_ range: Range<Int>?) -> [UInt8] {
        guard let range else { return [] }
        return extracting(range).array
    }
}
