/// The head of a request.
public struct RequestHead: Sendable, Hashable {
    public var method: Method
    public var target: Target
    public var version: Version
    public var fields: Fields

    public init(method: Method, target: Target, version: Version = .http11, fields: Fields = [:]) {
        self.method = method
        self.target = target
        self.version = version
        self.fields = fields
    }

    /// Host and port: those of absolute-form if it was used (RFC 9112 3.2.2), else those of the Host field.
    public var host: String? { target.authority ?? fields[.host] }
}
