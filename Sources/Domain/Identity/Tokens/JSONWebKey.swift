import ChatterdBasics

/// A public key of an issuer (JWK, RFC 7517) whose algorithm chatterd verifies. Whether its bytes are a key is checked when it is used.
public struct JSONWebKey: Sendable, Hashable {
    /// The kinds of keys, each with the bytes of its members.
    public enum Material: Sendable, Hashable {
        /// Ed25519: `kty` is OKP, `crv` is Ed25519 (RFC 8037, section 2).
        case ed25519(x: [UInt8])
        /// P-256: `kty` is EC, `crv` is P-256 (RFC 7518, section 6.2.1).
        case p256(x: [UInt8], y: [UInt8])
        /// RSA: `kty` is RSA (RFC 7518, section 6.3.1).
        case rsa(modulus: [UInt8], exponent: [UInt8])
    }

    /// `kid`: the name of the key.
    public let keyID: String
    /// The kind of the key, with its bytes.
    public let material: Material

    /// The algorithm of the key's signatures.
    public var algorithm: SignatureAlgorithm {
        switch material {
        case .ed25519: .edDSA
        case .p256: .es256
        case .rsa: .rs256
        }
    }

    /// Creates a key.
    public init(keyID: String, material: Material) {
        self.keyID = keyID
        self.material = material
    }

    /// Reads a key; `nil` for a key that chatterd does not use: of another kind or use, of an algorithm other than its own, without a
    /// name, or malformed.
    init?(_ value: JSONSlice) {
        guard let object = try? BoundedObject(value),
            let keyID = try? object.text("kid", upTo: JSONWebToken.maximumKeyIDLength), !keyID.isEmpty,
            let material = Self.material(object), Self.isForSignatures(object)
        else { return nil }
        self.init(keyID: keyID, material: material)
        if object.has("alg") {
            guard (try? object.text("alg", upTo: 64)) == algorithm.rawValue else { return nil }
        }
    }

    /// Whether `use` and `key_ops` permit verification (RFC 7517, sections 4.2 and 4.3). Absent members permit it.
    private static func isForSignatures(_ object: BoundedObject) -> Bool {
        if object.has("use") {
            guard (try? object.text("use", upTo: 64)) == "sig" else { return false }
        }
        guard object.has("key_ops") else { return true }
        let operations = try? object.texts("key_ops", atMost: 16, upTo: 64)
        return operations?.contains("verify") == true
    }

    private static func material(_ object: BoundedObject) -> Material? {
        switch (try? object.text("kty", upTo: 64), try? object.text("crv", upTo: 64)) {
        case ("OKP", "Ed25519"):
            bytes("x", object).map { .ed25519(x: $0) }
        case ("EC", "P-256"):
            bytes("x", object).flatMap { x in bytes("y", object).map { .p256(x: x, y: $0) } }
        case ("RSA", _):
            bytes("n", object).flatMap { n in bytes("e", object).map { .rsa(modulus: n, exponent: $0) } }
        default: nil
        }
    }

    private static func bytes(_ name: StaticString, _ object: BoundedObject) -> [UInt8]? {
        (try? object.text(name, upTo: JSONWebKeySet.maximumMemberLength)).flatMap { Base64URL.decode($0) }
    }
}
