/// One file of the web page, as it was when the program was built.
public struct PageFile: Sendable {
    /// The name below the folder of the page, such as `views/message.js`.
    public let name: String
    /// The value of Content-Type.
    public let contentType: String
    /// The entity tag of the content, between quotes (RFC 9110 8.8.3).
    public let tag: String
    /// The content.
    public let bytes: [UInt8]
    /// The content in the gzip format.
    public let compressed: [UInt8]
    /// Whether a browser shows the file as a document of its own, or may do so.
    public let isDocument: Bool

    /// Creates a file. Its type comes from the end of its name; a name with an unknown end is a stream of bytes.
    public init(_ name: String, _ bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
        compressed = GzipEncoder.encode(bytes)
        isDocument = name.hasSuffix(".html") || name.hasSuffix(".svg")
        contentType = Self.contentType(of: name)
        tag = "\"\(String(Self.hash(of: bytes), radix: 16))\""
    }

    private static func contentType(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "svg": "image/svg+xml"
        case "json": "application/json"
        case "webmanifest": "application/manifest+json"
        default: "application/octet-stream"
        }
    }

    /// FNV-1a, 64 bits. A tag is no secret and protects nothing; it only has to change with the content.
    private static func hash(of bytes: [UInt8]) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
