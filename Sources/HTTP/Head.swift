/// The head of a request.
public struct RequestHead: Sendable, Hashable {
    /// The method.
    public var method: Method
    /// The target.
    public var target: Target
    /// The version.
    public var version: Version
    /// The fields.
    public var fields: Fields

    /// Makes a head.
    public init(method: Method, target: Target, version: Version = .http11, fields: Fields = [:]) {
        self.method = method
        self.target = target
        self.version = version
        self.fields = fields
    }

    /// Host and port: those of absolute-form if it was used (RFC 9112 3.2.2), else those of the Host field.
    public var host: String? { target.authority ?? fields[.host] }
}

/// The head of a response; the reason phrase is not kept, as RFC 9112 section 4 tells clients to ignore it.
public struct ResponseHead: Sendable, Hashable {
    /// The version.
    public var version: Version
    /// The status.
    public var status: Status
    /// The fields.
    public var fields: Fields

    /// Makes a head.
    public init(status: Status, version: Version = .http11, fields: Fields = [:]) {
        self.version = version
        self.status = status
        self.fields = fields
    }
}
