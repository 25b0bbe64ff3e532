/// The limits of the head of a message, in bytes and fields.
public struct HeadLimits: Sendable, Hashable {
    /// Bytes of the request line or status line, without its line end.
    public var startLine = 8 * 1024
    /// Bytes of one field line, without its line end.
    public var fieldLine = 16 * 1024
    /// Bytes of the whole head, line ends included.
    public var total = 32 * 1024
    /// Number of field lines.
    public var fields = 100

    /// The defaults.
    public init() {}
}
