/// A body that is read piece by piece. The connection is closed when the last reference goes away.
package final class ResponseBody: Sendable {
    private let read: @Sendable () async throws(ChatterError) -> [UInt8]?
    private let close: @Sendable () -> Void

    /// - Parameters:
    ///   - read: returns the next bytes as soon as some have arrived; `nil` at the end.
    ///   - close: closes the connection; may be called at any time and more than once.
    package init(
        read: @escaping @Sendable () async throws(ChatterError) -> [UInt8]?, close: @escaping @Sendable () -> Void
    ) {
        self.read = read
        self.close = close
    }

    deinit {
        close()
    }

    /// The next bytes; `nil` at the end.
    package func next() async throws(ChatterError) -> [UInt8]? {
        try await read()
    }

    /// The rest of the body.
    ///
    /// - Throws: `malformed` if it is longer than `limit` bytes.
    package func collect(upTo limit: Int) async throws(ChatterError) -> [UInt8] {
        var bytes: [UInt8] = []
        while let piece = try await next() {
            guard piece.count <= limit - bytes.count else {
                throw .malformed("The response is longer than \(limit) bytes.")
            }
            bytes += piece
        }
        return bytes
    }
}
