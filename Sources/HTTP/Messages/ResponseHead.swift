/// The head of a response; the reason phrase is not kept, as RFC 9112 section 4 tells clients to ignore it.
public struct ResponseHead: Sendable, Hashable {
    /// The version.
    public var version: Version
    /// The status.
    public var status: Status
    /// The fields.
    public var fields: Fields

    /// Creates a head.
    public init(status: Status, version: Version = .http11, fields: Fields = [:]) {
        self.version = version
        self.status = status
        self.fields = fields
    }
}
