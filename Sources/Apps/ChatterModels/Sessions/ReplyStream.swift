import ChatterdBasics

/// What a reply yields while it is generated. The work begins with the first element that is awaited, and is cancelled when the loop is
/// left, even while a variable keeps the stream.
///
/// A stream is read once: a second loop has no elements. Errors are `LLMError`.
public struct ReplyStream<Element: Sendable>: AsyncSequence, Sendable {
    typealias Next = @Sendable () async throws(LLMError) -> Element?

    /// The reply, until an iterator has it.
    private let reply: Lock<Next?>

    init(_ next: @escaping Next) {
        reply = Lock(next)
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(reply: reply.withLock { $0.take() })
    }

    /// Has the reply, which ends with it.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var reply: Next?

        /// The next element; `nil` after the last one.
        ///
        /// - Throws: `LLMError`.
        public mutating func next() async throws -> Element? {
            do {
                if let element = try await reply?() { return element }
                reply = nil
                return nil
            } catch {
                reply = nil
                throw error
            }
        }
    }
}
