import ChatterdBasics

/// The body of a request, in parts. Large parts are sent without a copy.
public struct OutgoingBody: Sendable {
    /// The parts in order.
    public private(set) var parts: [SharedBytes] = []
    /// The number of bytes of all parts.
    public private(set) var count = 0

    /// Creates an empty body.
    public init() {}

    /// Creates a body of one part.
    public init(_ buffer: ByteBuffer) {
        append(SharedBytes(buffer))
    }

    /// Whether the body has no bytes.
    public var isEmpty: Bool { count == 0 }

    /// Appends a part.
    public mutating func append(_ part: SharedBytes) {
        guard part.count > 0 else { return }
        parts.append(part)
        count += part.count
    }
}
