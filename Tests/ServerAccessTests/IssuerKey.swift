import ChatterdBasics
import ChatterdCryptography

/// A key of a test's issuer: its public form, and tokens that it signs.
struct IssuerKey {
    let id: String
    private let key = SigningKey.random()

    init(_ id: String) {
        self.id = id
    }

    /// The text of a set of keys (JWKS).
    static func set(_ keys: IssuerKey...) -> String {
        let keys = keys.map { key in
            #"{"kty":"OKP","crv":"Ed25519","kid":"\#(key.id)","x":"\#(Base64URL.encode(key.key.publicBytes))"}"#
        }
        return "{\"keys\":[\(keys.joined(separator: ","))]}"
    }

    /// A token of ann with some members of its header and its claims changed, as JSON values; an empty value removes the member.
    func token(header: [String: String] = [:], _ claims: [String: String] = [:]) -> String {
        let usualHeader = ["alg": #""EdDSA""#, "kid": "\"\(id)\"", "typ": #""JWT""#]
        let usualClaims = [
            "iss": #""https://accounts.example""#, "aud": #""shop-client""#, "sub": #""ann""#, "exp": "2000000000",
            "iat": "1999999000",
        ]
        let parts = [usualHeader.merging(header) { $1 }, usualClaims.merging(claims) { $1 }].map(Self.object)
        let input = parts.map { Base64URL.encode(Array($0.utf8)) }.joined(separator: ".")
        return "\(input).\(Base64URL.encode(key.sign(Array(input.utf8))))"
    }

    private static func object(_ members: [String: String]) -> String {
        let members = members.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }
        return "{" + members.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    }
}
