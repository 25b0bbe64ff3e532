import ChatterdBasics
import Glibc

/// A host and a port in text form: `127.0.0.1:8080`, `[::1]:8080`, `localhost:0`, `:8080` for every interface.
public struct HostAndPort: Sendable, Hashable, CustomStringConvertible {
    /// A name or a numeric address, without brackets.
    public let host: String
    /// The port. A listener with port 0 gets one from the system.
    public let port: UInt16

    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Parses `host:port`.
    ///
    /// - Throws: `invalidAddress` with a sentence that shows the right form.
    public init(parsing text: String) throws(SocketError) {
        let wrong = SocketError(
            .invalidAddress, "\"\(text)\" is not host:port (for example 127.0.0.1:8080, [::1]:8080 or :8080)")
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            throw wrong
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            throw wrong
        }
        self.init(host: host.isEmpty ? "0.0.0.0" : String(host), port: port)
    }

    /// `host:port`, the host of IPv6 in brackets.
    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
