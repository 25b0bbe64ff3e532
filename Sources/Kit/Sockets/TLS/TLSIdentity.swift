import CChatterdOpenSSL
import ChatterdBasics

/// The certificate of a server, which can be replaced while the server runs.
public final class TLSIdentity: Sendable {
    private let certificate: String
    private let key: String
    private let context: Lock<TLSContext>

    /// Reads two PEM files: the certificate followed by its chain, and the key.
    ///
    /// - Throws: the errors of `TLSContext.server`.
    public init(certificate: String, key: String) throws(SocketError) {
        self.certificate = certificate
        self.key = key
        context = Lock(try TLSContext.server(certificate: certificate, key: key))
    }

    /// The context of new connections.
    public var current: TLSContext {
        context.withLock { $0 }
    }

    /// Reads the files again, for new connections.
    ///
    /// - Throws: the errors of `TLSContext.server`; the present certificate then stays.
    public func reload() throws(SocketError) {
        let fresh = try TLSContext.server(certificate: certificate, key: key)
        context.withLock { $0 = fresh }
    }
}
