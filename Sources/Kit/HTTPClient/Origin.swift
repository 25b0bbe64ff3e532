import ChatterdBasics
import ChatterdHTTP

/// A server: scheme, host, port and the base path of its requests.
public struct Origin: Sendable, Hashable {
    /// The transport.
    public enum Scheme: String, Sendable, Hashable {
        /// Plain TCP.
        case http
        /// TLS.
        case https
    }

    /// The transport.
    public let scheme: Scheme
    /// A name or a numeric address, without brackets.
    public let host: String
    /// The port; the default of the scheme if the URL has none.
    public let port: UInt16
    /// The prefix of the path of every request; empty, or `/…` without a slash at its end.
    public private(set) var basePath: String
    /// Host and port with the spelling of the URL, for the Host field. Model servers compare it with their own name.
    public let authority: String

    /// Parses a URL such as `http://127.0.0.1:11434` or `https://models.example/base/`.
    ///
    /// - Throws: `invalidURL`; the message never repeats the URL, which may hold a secret.
    public init(parsing url: String) throws(HTTPClientError) {
        guard let separator = url.firstRange(of: "://") else {
            throw Origin.wrong("it must begin with http:// or https://")
        }
        guard let scheme = Scheme(rawValue: url[..<separator.lowerBound].lowercased()) else {
            throw Origin.wrong("its scheme must be http or https")
        }
        let rest = url[separator.upperBound...]
        guard !rest.contains("?"), !rest.contains("#") else {
            throw Origin.wrong("it must end with the path, without a query or a fragment")
        }
        let authority = rest.prefix { $0 != "/" }
        guard !authority.contains("@") else {
            throw Origin.wrong("it must hold no user name and no password")
        }
        (host, port) = try Origin.split(authority, scheme: scheme)
        var path = rest[authority.endIndex...]
        while path.hasSuffix("/") {
            path = path.dropLast()
        }
        guard path.isEmpty || Origin.isTarget(String(path)), Origin.isTarget("http://\(authority)/") else {
            throw Origin.wrong("its host or path holds a character that must be escaped, or is malformed")
        }
        self.scheme = scheme
        self.authority = String(authority)
        basePath = String(path)
    }

    /// The same server with another base path, which is empty or `/…` without a slash at its end.
    public func at(_ basePath: String) -> Origin {
        var origin = self
        origin.basePath = basePath
        return origin
    }

    private static func isTarget(_ text: String) -> Bool {
        do throws(HTTPError) {
            _ = try Target(text)
            return true
        } catch {
            return false
        }
    }

    private static func split(
        _ authority: Substring, scheme: Scheme
    ) throws(HTTPClientError) -> (host: String, port: UInt16) {
        var host = authority
        var port: UInt16 = scheme == .http ? 80 : 443
        if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") {
            host = authority[..<colon]
            guard let number = UInt16(authority[authority.index(after: colon)...]), number > 0 else {
                throw wrong("its port must be a number from 1 to 65535")
            }
            port = number
        }
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            throw wrong("an IPv6 address must stand in brackets, as in http://[::1]:11434")
        }
        guard !host.isEmpty else { throw wrong("it names no host") }
        return (String(host), port)
    }

    private static func wrong(_ what: String) -> HTTPClientError {
        HTTPClientError(.invalidURL, "not a usable URL: \(what) (for example http://127.0.0.1:11434)")
    }
}

extension Origin: CustomStringConvertible {
    /// Scheme, host and port, which are no secrets.
    public var description: String { "\(scheme.rawValue)://\(authority)" }
}
