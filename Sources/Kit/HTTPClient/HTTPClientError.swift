/// The reason why an exchange has no complete response.
public struct HTTPClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The closed set of failures that a caller can tell apart.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The URL of the server or the path is malformed.
        case invalidURL
        /// The name of the host has no address, or the look-up timed out.
        case unresolvable
        /// The host has an address that only a client with `allowsLinkLocal` or `allowsPrivate` connects to.
        case forbiddenAddress
        /// No process listens at the address, or the network has no route to it.
        case refused
        /// The connection was not established within its timeout.
        case connectTimedOut
        /// The certificate or the handshake is invalid.
        case tls
        /// The connection broke before the head of the response was complete.
        case reset
        /// The body of the response ended early.
        case cut
        /// The response is not HTTP, or its head exceeds a limit.
        case malformed
        /// Any failure of the system.
        case other
    }

    /// The failure, for machines.
    public let code: Code
    /// The failure, for people. It names the server, never the bytes sent or received.
    public let message: String

    /// Creates an error from a code and a sentence.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }
}
