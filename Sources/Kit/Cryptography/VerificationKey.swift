import CChatterdOpenSSL
import ChatterdBasics

/// A public key, with the one algorithm that it verifies.
///
/// The algorithm belongs to the key, so that a token cannot choose another one (RFC 8725, section 3.1). Threads may share a key.
public struct VerificationKey: Sendable {
    /// The sizes of the moduli of RSA that are accepted, in bits. Shorter keys are not safe (RFC 7518, section 3.3); the time of a
    /// verification grows with the square of the size.
    public static let modulusBits = 2_048...8_192
    /// The limit of a public exponent of RSA, in bytes. Usual is 65,537.
    public static let maximumExponentSize = 8
    /// The number of bytes of a coordinate of P-256.
    private static let coordinateSize = 32

    /// The algorithm of all signatures of the key.
    public let algorithm: SignatureAlgorithm
    private let key: OpenSSLKey

    init(_ algorithm: SignatureAlgorithm, _ key: OpenSSLKey) {
        self.algorithm = algorithm
        self.key = key
    }

    /// Creates a key of Ed25519 from the member `x` of a JWK (RFC 8037, section 2).
    ///
    /// - Throws: `wrongSize` unless `x` has 32 bytes.
    public init(ed25519 x: [UInt8]) throws(KeyError) {
        guard x.count == SigningKey.seedSize else {
            throw KeyError(.wrongSize, "A public key of Ed25519 has 32 bytes.")
        }
        try self.init(.edDSA, copenssl_ed25519_public(x))
    }

    /// Creates a key of P-256 from the members `x` and `y` of a JWK (RFC 7518, section 6.2.1).
    ///
    /// - Throws: `wrongSize` unless both have 32 bytes; `invalid` for a point that is not on the curve.
    public init(p256X x: [UInt8], y: [UInt8]) throws(KeyError) {
        guard x.count == Self.coordinateSize, y.count == Self.coordinateSize else {
            throw KeyError(.wrongSize, "The coordinates of a key of P-256 have 32 bytes each.")
        }
        try self.init(.es256, copenssl_p256_public(x, y))
    }

    /// Creates a key of RSA from the members `n` and `e` of a JWK (RFC 7518, section 6.3.1).
    ///
    /// - Throws: `refusedSize` for a modulus outside of `modulusBits`, or an exponent beyond its limit; `invalid` for even numbers, and
    ///   for an exponent below 3.
    public init(rsaModulus n: [UInt8], exponent e: [UInt8]) throws(KeyError) {
        // RFC 7518 6.3.1 forbids leading zeros, but some issuers write one.
        let modulus = Array(n.drop { $0 == 0 })
        let exponent = Array(e.drop { $0 == 0 })
        let bits = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
        guard Self.modulusBits.contains(bits) else {
            let range = Self.modulusBits
            throw KeyError(.refusedSize, "A key of RSA must have \(range.lowerBound) to \(range.upperBound) bits.")
        }
        guard exponent.count <= Self.maximumExponentSize else {
            throw KeyError(
                .refusedSize, "The exponent of a key of RSA must have at most \(Self.maximumExponentSize) bytes.")
        }
        guard let last = modulus.last, last % 2 == 1, let lastOfExponent = exponent.last, lastOfExponent % 2 == 1,
            exponent != [1]
        else {
            throw KeyError(.invalid, "The modulus and the exponent of a key of RSA are odd numbers above 1.")
        }
        try self.init(.rs256, copenssl_rsa_public(modulus, modulus.count, exponent, exponent.count))
    }

    private init(_ algorithm: SignatureAlgorithm, _ pointer: OpaquePointer?) throws(KeyError) {
        guard let pointer else {
            throw KeyError(.invalid, "The bytes are not a public key for \(algorithm.rawValue).")
        }
        self.init(algorithm, OpenSSLKey(pointer))
    }

    /// Whether a signature in the form of JWS (RFC 7518, section 3) is that of a message.
    public func verify(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        // OpenSSL reads 64 bytes of these two; it checks the size of RSA's itself.
        guard algorithm == .rs256 || signature.count == SigningKey.signatureSize else { return false }
        return switch algorithm {
        case .edDSA: copenssl_ed25519_verify(key.pointer, message, message.count, signature) == 1
        case .es256: copenssl_p256_verify(key.pointer, message, message.count, signature) == 1
        case .rs256: copenssl_rsa_verify(key.pointer, message, message.count, signature, signature.count) == 1
        }
    }
}
