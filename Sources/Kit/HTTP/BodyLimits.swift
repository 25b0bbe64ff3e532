/// The limits of the body of a message, in bytes.
public struct BodyLimits: Sendable, Hashable {
    /// Bytes of data. Ten screenshots in Base64 fit, and Anthropic's API has the same limit.
    public var body = 32 * 1024 * 1024
    /// Bytes of one line with a chunk's size and extensions, without its line end.
    public var chunkLine = 256
    /// Bytes of chunk framing that are free; beyond them eight bytes are allowed for each byte of data.
    public var chunkOverhead = 16 * 1024
    /// Bytes of the trailer section.
    public var trailers = 8 * 1024

    /// The defaults.
    public init() {}

    /// The defaults for a body that is read as it comes, and has no limit here.
    public static var streamed: BodyLimits {
        var limits = BodyLimits()
        limits.body = .max
        return limits
    }
}
