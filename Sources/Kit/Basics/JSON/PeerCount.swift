/// The bounds of counts that a peer chooses: a model server, a client, an imported file, or a row that was changed by hand.
///
/// A reader of counts treats a number outside the bounds, and a value of another type, as not given. So no sum of counts overflows.
public enum PeerCount {
    /// All counts. 2^53 is the last whole number that every reader of JSON knows exactly (RFC 8259, section 6).
    public static let range = 0...Int(clamping: Int64(1) << 53)

    /// The number if it is a count; `nil` for any other number, and for none.
    public static func checked(_ number: Int?) -> Int? {
        number.flatMap { range.contains($0) ? $0 : nil }
    }

    /// The sum of two numbers that may have been checked elsewhere; the nearest number that fits.
    public static func sum(_ left: Int, _ right: Int) -> Int {
        let (sum, overflows) = left.addingReportingOverflow(right)
        return overflows ? (left < 0 ? .min : .max) : sum
    }
}

extension JSONReader {
    /// Skips a value of any type. Returns it if it is a count (`PeerCount`), written without fraction and exponent.
    public mutating func countOrSkip() throws(JSONError) -> Int? {
        if try kind() == .number { return PeerCount.checked(try integer()) }
        try skipValue()
        return nil
    }
}
