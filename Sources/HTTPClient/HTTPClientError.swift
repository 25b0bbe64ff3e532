/// Why an exchange has no complete response.
public struct HTTPClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The closed set of failures that a caller can tell apart.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The text is no URL of a server, or the path is none.
        case invalidURL
        /// The name of the host has no address, or could not be looked up in time.
        case unresolvable
        /// The host is at an address that only a client that `allowsLinkLocal` connects to.
        case forbiddenAddress
        /// Nobody listens there, or the network leads nowhere.
        case refused
        /// The connection did not come about within its time limit.
        case connectTimedOut
        /// Certificate or handshake.
        case tls
        /// The connection was lost before the head of the response was complete.
        case reset
        /// The body of the response ended early.
        case cut
        /// The response is not HTTP, or its head is over a limit.
        case malformed
        /// Any failure of the system.
        case other
    }

    /// The failure, for machines.
    public let code: Code
    /// The failure, for people; names the server, never what was sent or received.
    public let message: String

    /// Makes an error of a code and a sentence.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    public var description: String { message }
}
