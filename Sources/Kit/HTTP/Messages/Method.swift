/// The method of a request, RFC 9110 section 9: a case-sensitive token.
public struct Method: Sendable, Hashable {
    /// The token as sent.
    public let name: String

    /// Creates a method of a token; `nil` for any other text.
    public init?(_ name: String) {
        guard Grammar.isToken(name.utf8) else { return nil }
        self.name = name
    }

    init(token: String) {
        name = token
    }

    /// GET: sends the resource.
    public static let get = Method(token: "GET")
    /// HEAD: as GET, without the body.
    public static let head = Method(token: "HEAD")
    /// POST: hands data to the resource.
    public static let post = Method(token: "POST")
    /// PUT: replaces the resource.
    public static let put = Method(token: "PUT")
    /// DELETE: removes the resource.
    public static let delete = Method(token: "DELETE")
    /// OPTIONS: asks for the methods of the resource.
    public static let options = Method(token: "OPTIONS")
    /// PATCH: changes the resource in part, RFC 5789.
    public static let patch = Method(token: "PATCH")
    /// TRACE: echoes the request.
    public static let trace = Method(token: "TRACE")
    /// CONNECT: opens a tunnel; refused by the request parser.
    public static let connect = Method(token: "CONNECT")
}

extension Method {
    /// Whether the method changes no data (RFC 9110 9.2.1).
    public var isSafe: Bool { [.get, .head, .options, .trace].contains(self) }
}

extension Method: CustomStringConvertible {
    /// The token as sent.
    public var description: String { name }
}
