import CChatterdOpenSSL

/// A secret key of HMAC-SHA-256 (RFC 2104). The bytes are never shown.
public struct AuthenticationKey: Sendable {
    /// The number of bytes of a code.
    public static let codeSize = 32

    private let bytes: [UInt8]

    /// Creates a key from its bytes. Less than 32 random bytes are weaker than the digest.
    public init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// A new key of 32 random bytes.
    public static func random() -> AuthenticationKey {
        AuthenticationKey(bytes: SecureRandom.bytes(codeSize))
    }

    /// The code of a message: 32 bytes.
    public func code(of message: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.codeSize) { code, count in
            let succeeded = copenssl_hmac_sha256(bytes, bytes.count, message, message.count, code.baseAddress)
            precondition(succeeded == 1, "OpenSSL has no memory for HMAC-SHA-256")
            count = Self.codeSize
        }
    }

    /// Whether a code is that of a message; compares in constant time.
    public func verify(_ code: [UInt8], of message: [UInt8]) -> Bool {
        ConstantTime.areEqual(self.code(of: message), code)
    }
}

extension AuthenticationKey: CustomStringConvertible, CustomReflectable {
    /// `(secret)`.
    public var description: String { "(secret)" }

    /// Empty, so that `dump` does not show the bytes.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
