extension Span {
    /// A copy of the elements.
    @inlinable public var array: [Element] { withUnsafeBufferPointer { Array($0) } }
}
