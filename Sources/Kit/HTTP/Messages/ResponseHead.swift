/// The head of a response; the reason phrase is not kept, as RFC 9112 section 4 tells clients to ignore it.
public struct ResponseHead: Sendable, Hashable {
    public var version: Version
    public var status: Status
    public var fields: Fields

    public init(status: Status, version: Version = .http11, fields: Fields = [:]) {
        self.version = version
        self.status = status
        self.fields = fields
    }
}
