extension Array<UInt8> {
    /// The bytes, as `span` has them, on systems before macOS 26 and iOS 26 too.
    @inlinable public var readable: Span<UInt8> {
        @_lifetime(borrow self)
        @inline(__always)
        borrowing get {
            #if canImport(Darwin)
                // An array of bytes is contiguous, and the borrow keeps its storage.
                let bytes = withUnsafeBufferPointer { $0 }
                return _overrideLifetime(bytes.span, borrowing: self)
            #else
                return span
            #endif
        }
    }
}
