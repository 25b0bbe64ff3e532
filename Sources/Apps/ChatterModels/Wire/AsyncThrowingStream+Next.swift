extension AsyncThrowingStream where Element: Sendable, Failure == any Error {
    /// The next element; `nil` at the end. All iterators of a stream share its elements.
    ///
    /// An actor that keeps an iterator needs `next(isolation:)`, which systems before macOS 15 and iOS 18 do not have.
    package func nextElement() async throws -> Element? {
        var iterator = makeAsyncIterator()
        return try await iterator.next()
    }
}
