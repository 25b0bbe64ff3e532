import CChatterdOpenSSL
import ChatterdBasics

/// What TLS sessions are made of: a server's certificate and key, or the authorities that a client trusts.
///
/// TLS 1.2 and 1.3; the protocol agreed on is `http/1.1`. May be shared by all shards.
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

    /// Makes a server's context of two PEM files: the certificate followed by its chain, and the key.
    ///
    /// - Throws: `tls` when a file cannot be read or used, or the key is not that of the certificate.
    public static func server(certificate: String, key: String) throws(SocketError) -> TLSContext {
        try make(isServer: true, "certificate \(certificate), key \(key)") { reason, capacity in
            copenssl_server_context(certificate, key, reason, capacity)
        }
    }

    /// What clients share that trust the system's authorities and no other: made once in a process.
    private static let common = Lock<TLSContext?>(nil)

    /// The context of clients that trust the system's authorities; all calls give the same one.
    ///
    /// - Throws: `tls` when those cannot be read.
    public static func system() throws(SocketError) -> TLSContext {
        if let context = common.withLock({ $0 }) {
            return context
        }
        let fresh = try client()
        // Of two made at the same time one stays.
        return common.withLock { context in
            let kept = context ?? fresh
            context = kept
            return kept
        }
    }

    /// Makes a client's context that trusts the system's authorities, and those of a PEM file where one is named.
    ///
    /// - Throws: `tls` when the file cannot be read or holds no certificate; the message names it and says which.
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

    /// A session of a server on an accepted descriptor.
    func accept(_ descriptor: Int32) throws(SocketError) -> TLSSession {
        precondition(isServer, "a client's context cannot accept")
        guard let session = copenssl_accept(pointer, descriptor) else {
            throw SocketError(.tls, "no memory for a TLS session")
        }
        return TLSSession(session)
    }

    /// A session of a client that checks that it has reached `host`, a name or a numeric address.
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
