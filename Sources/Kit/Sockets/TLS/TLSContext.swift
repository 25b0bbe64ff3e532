import CChatterdOpenSSL
import ChatterdBasics

/// The parameters of TLS sessions: the certificate and key of a server, or the authorities that a client trusts.
///
/// It allows TLS 1.2 and 1.3 and the protocol `http/1.1`.
///
/// The class is `@unchecked Sendable` because OpenSSL allows threads to share a context that does not change.
public final class TLSContext: @unchecked Sendable {
    let pointer: OpaquePointer
    private let isServer: Bool

    private init(_ pointer: OpaquePointer, isServer: Bool) {
        self.pointer = pointer
        self.isServer = isServer
    }

    deinit {
        copenssl_context_free(pointer)
    }

    /// Creates the context of a server from two PEM files: the certificate followed by its chain, and the key.
    ///
    /// - Throws: `tls` if a file cannot be read or used, or if the key does not match the certificate.
    public static func server(certificate: String, key: String) throws(SocketError) -> TLSContext {
        try make(isServer: true, "certificate \(certificate), key \(key)") { reason, capacity in
            copenssl_server_context(certificate, key, reason, capacity)
        }
    }

    /// The second since 1970 (UTC) from which the certificate of a server is valid; `nil` without one.
    public var certificateBegin: Int64? {
        let begin = copenssl_certificate_begin(pointer)
        return begin < 0 ? nil : begin
    }

    /// The second since 1970 (UTC) at which the certificate of a server expires; `nil` without one.
    public var certificateEnd: Int64? {
        let end = copenssl_certificate_end(pointer)
        return end < 0 ? nil : end
    }

    /// The context of clients that trust the system's authorities only; created once in a process.
    private static let common = Lock<TLSContext?>(nil)

    /// The context of clients that trust the system's authorities; all calls return the same object.
    ///
    /// - Throws: `tls` if those cannot be read.
    public static func system() throws(SocketError) -> TLSContext {
        if let context = common.withLock({ $0 }) {
            return context
        }
        let fresh = try client()
        // Another thread may have created one at the same time; the first one stays.
        return common.withLock { context in
            let kept = context ?? fresh
            context = kept
            return kept
        }
    }

    /// Creates the context of a client that trusts the system's authorities and those of a PEM file, if one is given.
    ///
    /// - Throws: `tls` if the file cannot be read or has no certificate; the message names the file and the reason.
    public static func client(authorities: String? = nil) throws(SocketError) -> TLSContext {
        try make(isServer: false, authorities.map { "authorities \($0)" } ?? "TLS") { reason, capacity in
            copenssl_client_context(authorities, reason, capacity)
        }
    }

    private static func make(
        isServer: Bool, _ what: String,
        _ body: (UnsafeMutablePointer<CChar>?, Int) -> OpaquePointer?
    ) throws(SocketError) -> TLSContext {
        var reason = [CChar](repeating: 0, count: 256)
        guard let pointer = body(&reason, reason.count) else {
            throw SocketError(.tls, "\(what): \(String(nullTerminated: reason))")
        }
        return TLSContext(pointer, isServer: isServer)
    }

    /// Creates the session of a server on an accepted descriptor.
    func accept(_ descriptor: Int32) throws(SocketError) -> TLSSession {
        precondition(isServer, "a client's context cannot accept")
        guard let session = copenssl_accept(pointer, descriptor) else {
            throw SocketError(.tls, "no memory for a TLS session")
        }
        return TLSSession(session)
    }

    /// Creates the session of a client, which checks the certificate of the peer against `host`, a name or a numeric address.
    func connect(_ descriptor: Int32, to host: String) throws(SocketError) -> TLSSession {
        precondition(!isServer, "a server's context cannot connect")
        let isNumeric: Int32 = SocketAddress(numericHost: host, port: 0) == nil ? 0 : 1
        guard let session = copenssl_connect(pointer, descriptor, host, isNumeric) else {
            throw SocketError(.tls, "no TLS session with \(host): not a name or an address that a certificate can hold")
        }
        return TLSSession(session)
    }
}

extension String {
    /// The text before the first NUL.
    init(nullTerminated text: [CChar]) {
        self.init(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
