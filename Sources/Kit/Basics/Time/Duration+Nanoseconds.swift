extension Duration {
    /// Whole nanoseconds. Zero for a negative duration; at most 9,000,000,000 seconds, about 285 years.
    @inlinable public var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        return UInt64(min(seconds, 9_000_000_000)) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }
}
