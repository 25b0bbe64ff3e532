import ChatterdBasics
import ChatterdHTTP

/// A request with its whole body.
public struct OutgoingRequest: Sendable {
    public var method: Method
    /// Path and query below the origin's base path; begins with a slash.
    public var path: String
    /// The fields. The client writes Host and the framing itself, and ignores them here.
    public var fields: Fields
    public var body: OutgoingBody

    public init(_ method: Method, _ path: String, fields: Fields = [:], body: OutgoingBody = OutgoingBody()) {
        self.method = method
        self.path = path
        self.fields = fields
        self.body = body
    }

    /// Creates a request with a body of bytes.
    public init(_ method: Method, _ path: String, fields: Fields = [:], body: [UInt8]) {
        var buffer = ByteBuffer(capacity: body.count)
        buffer.append(body)
        self.init(method, path, fields: fields, body: OutgoingBody(buffer))
    }
}
