import Glibc

/// A failure of a socket, an address or a TLS session.
public struct SocketError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The closed set of failures that a caller can tell apart.
    public enum Code: String, Sendable, CaseIterable {
        /// The text is not `host:port`.
        case invalidAddress
        /// The name has no address.
        case unresolvable
        /// No process listens at the address.
        case refused
        /// The timeout passed without an answer.
        case timedOut
        /// The peer reset the connection or ended.
        case reset
        /// Another socket uses the address.
        case addressInUse
        /// The certificate, the key or the handshake is invalid.
        case tls
        /// Any other failed system call.
        case system
    }

    /// The failure, for machines.
    public let code: Code
    /// The failure, for people. It names the operation and the address, never data.
    public let message: String

    /// Creates an error from a code and a sentence.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Creates the error of a system call that returned `-errno`.
    public init(errno negated: Int, _ operation: String) {
        let number = Int32(-negated)
        let code: Code =
            switch number {
            case ECONNREFUSED: .refused
            case ETIMEDOUT: .timedOut
            case ECONNRESET, EPIPE, ECONNABORTED, ENOTCONN: .reset
            case EADDRINUSE: .addressInUse
            default: .system
            }
        self.init(code, "\(operation): \(String(cString: strerror(number)))")
    }

    public var description: String { message }
}
