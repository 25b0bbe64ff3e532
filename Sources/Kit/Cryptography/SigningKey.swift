import CChatterdOpenSSL
import ChatterdBasics

/// A private key of Ed25519 (RFC 8032), with which chatterd signs its own tokens. The seed is never shown.
public struct SigningKey: Sendable {
    /// The number of bytes of a seed.
    public static let seedSize = 32
    /// The number of bytes of a signature.
    public static let signatureSize = 64

    /// The 32 bytes from which the key is made: a secret.
    public let seed: [UInt8]
    private let key: OpenSSLKey

    /// A new key.
    public static func random() -> SigningKey {
        let seed = SecureRandom.bytes(seedSize)
        guard let key = try? SigningKey(seed: seed) else {
            preconditionFailure("OpenSSL has no memory for a key, or no Ed25519")
        }
        return key
    }

    /// Creates the key of a seed.
    ///
    /// - Throws: `wrongSize` unless the seed has 32 bytes.
    public init(seed: [UInt8]) throws(KeyError) {
        guard seed.count == Self.seedSize else {
            throw KeyError(.wrongSize, "The seed of a key of Ed25519 has \(Self.seedSize) bytes.")
        }
        guard let pointer = copenssl_ed25519_private(seed) else {
            throw KeyError(.invalid, "OpenSSL does not accept the seed as a key of Ed25519.")
        }
        self.seed = seed
        key = OpenSSLKey(pointer)
    }

    /// The 32 bytes of the public key.
    public var publicBytes: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 32) { bytes, count in
            precondition(
                copenssl_ed25519_public_bytes(key.pointer, bytes.baseAddress) == 1,
                "OpenSSL has no public key of Ed25519")
            count = 32
        }
    }

    /// The public key. The two keys share one object.
    public var verificationKey: VerificationKey { VerificationKey(.edDSA, key) }

    /// The 64 bytes of the signature of a message.
    public func sign(_ message: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.signatureSize) { signature, count in
            let succeeded = copenssl_ed25519_sign(key.pointer, message, message.count, signature.baseAddress)
            precondition(succeeded == 1, "OpenSSL has no memory for a signature")
            count = Self.signatureSize
        }
    }
}

extension SigningKey: CustomStringConvertible, CustomReflectable {
    /// `(secret)`.
    public var description: String { "(secret)" }

    /// Empty, so that `dump` does not show the seed.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
