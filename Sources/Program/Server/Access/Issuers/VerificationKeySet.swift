import ChatterdBasics
import ChatterdCryptography
import ChatterdIdentity

/// The keys of an issuer that can verify signatures.
struct VerificationKeySet: Sendable {
    private let keys: [(id: ExactText, key: VerificationKey)]
    /// The number of keys that are left out: of other kinds or uses, without a name, or not accepted by OpenSSL.
    let ignoredKeys: Int

    /// Makes the keys of a set.
    init(_ set: JSONWebKeySet) {
        keys = set.keys.compactMap { key in (try? VerificationKey(key.material)).map { (ExactText(key.keyID), $0) } }
        ignoredKeys = set.ignoredKeys + set.keys.count - keys.count
    }

    /// The names of the keys.
    var ids: Set<ExactText> { Set(keys.map(\.id)) }

    /// The key for a token: the first one with its `kid` and of its algorithm; `nil` if there is none.
    func key(for token: JSONWebToken) -> VerificationKey? {
        keys.first { $0.id == ExactText(token.keyID) && $0.key.algorithm == token.algorithm }?.key
    }
}

extension VerificationKey {
    fileprivate init(_ material: JSONWebKey.Material) throws(KeyError) {
        switch material {
        case .ed25519(let x): try self.init(ed25519: x)
        case .p256(let x, let y): try self.init(p256X: x, y: y)
        case .rsa(let modulus, let exponent): try self.init(rsaModulus: modulus, exponent: exponent)
        }
    }
}
