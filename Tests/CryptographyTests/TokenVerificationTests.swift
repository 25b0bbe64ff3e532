import ChatterdBasics
import ChatterdCryptography
import ChatterdIdentity
import ChatterdTestSupport
import Testing

/// Tokens as a server checks them: parse, find the key, compare the algorithm, verify, check the claims.
@Suite struct TokenVerificationTests {
    private static let now: Int64 = 1_999_999_500
    private static let signingKey = SigningKey.random()
    private static let requirements = TokenRequirements(
        issuer: "https://accounts.example", audience: "shop-client", needsPerson: true)

    /// The keys of an issuer with one key of each kind.
    private static func keySet() throws -> JSONWebKeySet {
        let x = Base64URL.encode(signingKey.publicBytes)
        return try JSONWebKeySet(
            parsing: Array(
                """
                {"keys":[{"kty":"RSA","kid":"r1","use":"sig","n":"\(JWSVectors.modulus)","e":"AQAB"},\
                {"kty":"EC","kid":"e1","crv":"P-256","x":"\(JWSVectors.x)","y":"\(JWSVectors.y)"},\
                {"kty":"OKP","kid":"o1","crv":"Ed25519","x":"\(x)"}]}
                """.utf8))
    }

    private static func verificationKey(_ key: JSONWebKey) throws(KeyError) -> VerificationKey {
        switch key.material {
        case .ed25519(let x): try VerificationKey(ed25519: x)
        case .p256(let x, let y): try VerificationKey(p256X: x, y: y)
        case .rsa(let modulus, let exponent): try VerificationKey(rsaModulus: modulus, exponent: exponent)
        }
    }

    /// The person of a token.
    private func check(_ text: String, with key: VerificationKey? = nil) throws -> String? {
        let token = try JSONWebToken(parsing: text)
        guard let found = try Self.keySet().key(for: token) else { throw TokenError.unknownKey }
        let key = try key ?? Self.verificationKey(found)
        try token.require(key.algorithm)
        guard key.verify(token.signature, of: token.signingInput) else { throw TokenError.wrongSignature }
        return try Self.requirements.check(token, at: Self.now)
    }

    private func code(_ text: String, with key: VerificationKey? = nil) -> TokenError.Code? {
        do {
            _ = try check(text, with: key)
            return nil
        } catch {
            return (error as? TokenError)?.code
        }
    }

    private func part(_ text: String) -> String { Base64URL.encode(Array(text.utf8)) }

    /// A token with any header and claims, signed with Ed25519.
    private func signed(
        _ header: String = #"{"alg":"EdDSA","kid":"o1"}"#,
        _ claims: String = #"{"iss":"https://accounts.example","aud":"shop-client","sub":"ann","exp":2000000000}"#,
        key: SigningKey = signingKey
    ) -> String {
        let input = "\(part(header)).\(part(claims))"
        return "\(input).\(Base64URL.encode(key.sign(Array(input.utf8))))"
    }

    @Test func tokensOfAllAlgorithmsAreAccepted() throws {
        #expect(try check(JWSVectors.rsaToken) == "ann")
        #expect(try check(JWSVectors.p256Token) == "ann")
        #expect(try check(signed()) == "ann")
    }

    @Test func tokenOfChatterdIsAccepted() throws {
        let grant = try TokenGrant(
            owner: Owner(app: "shop", person: "ann"), key: "k", scopes: [.chat, .read],
            conversations: [ExactText("trip")])
        let unsigned = try UnsignedToken(
            keyID: "o1", issuer: "https://accounts.example", audience: "shop-client", issuedAt: Self.now,
            expiresAt: Self.now + 300, grant: grant)
        let text = unsigned.text(signature: Self.signingKey.sign(unsigned.signingInput))
        #expect(try check(text) == "ann")
        #expect(try TokenGrant(of: try JSONWebToken(parsing: text)) == grant)
    }

    @Test func tokenOfAnotherKeyIsRefused() {
        #expect(code(signed(key: .random())) == .wrongSignature)
        #expect(code(signed(#"{"alg":"EdDSA","kid":"o2"}"#)) == .unknownKey)
    }

    /// The token names RS256 and a key of P-256, or the other way round.
    @Test func tokenWithTheAlgorithmOfAnotherKeyIsRefused() throws {
        #expect(code(JWSVectors.rsaToken, with: try JWSVectors.p256Key()) == .wrongAlgorithm)
        #expect(code(JWSVectors.p256Token, with: try JWSVectors.rsaKey()) == .wrongAlgorithm)
        for algorithm in ["EdDSA", "ES256", "RS256"] {
            for kid in ["o1", "e1", "r1"] where (algorithm, kid) != ("EdDSA", "o1") {
                #expect(
                    [.unknownKey, .wrongSignature].contains(code(signed(#"{"alg":"\#(algorithm)","kid":"\#(kid)"}"#))))
            }
        }
    }

    /// An attacker knows the public key, and hopes that the verifier takes it for the shared secret of HS256.
    @Test func publicKeyIsNoSharedSecret() {
        for secret in [
            JWSVectors.bytes(JWSVectors.modulus), Array(JWSVectors.modulus.utf8), Self.signingKey.publicBytes,
        ] {
            for kid in ["r1", "o1", "e1"] {
                let claims = #"{"iss":"https://accounts.example","aud":"shop-client","sub":"ann","exp":2000000000}"#
                let input = part(#"{"alg":"HS256","kid":"\#(kid)"}"#) + "." + part(claims)
                let signature = AuthenticationKey(bytes: secret).code(of: Array(input.utf8))
                #expect(code("\(input).\(Base64URL.encode(signature))") == .wrongAlgorithm)
            }
        }
    }

    /// `jwk` would let the sender bring the key (CVE-2018-0114).
    @Test func keyInTheHeaderIsIgnored() {
        let own = SigningKey.random()
        let x = Base64URL.encode(own.publicBytes)
        let header =
            #"{"alg":"EdDSA","kid":"o1","jwk":{"kty":"OKP","crv":"Ed25519","x":"\#(x)"},"jku":"https://evil.example","x5u":"https://e"}"#
        #expect(code(signed(header, key: own)) == .wrongSignature)
        #expect(code(signed(header)) == nil)
    }

    @Test func signedTokenWithWrongClaimsIsRefused() {
        let rest = #""iss":"https://accounts.example","aud":"shop-client","sub":"ann""#
        #expect(code(signed(#"{"alg":"EdDSA","kid":"o1"}"#, #"{\#(rest),"exp":\#(Self.now + 1)}"#)) == nil)
        #expect(code(signed(#"{"alg":"EdDSA","kid":"o1"}"#, #"{\#(rest),"exp":\#(Self.now)}"#)) == .expired)
        #expect(code(signed(#"{"alg":"EdDSA","kid":"o1"}"#, #"{\#(rest)}"#)) == .missingExpiry)
    }

    @Test(arguments: ["rsa", "p256", "ed25519"])
    func changedTokenIsNeverAccepted(kind: String) throws {
        let text = ["rsa": JWSVectors.rsaToken, "p256": JWSVectors.p256Token][kind] ?? signed()
        let original = Array(text.utf8)
        let set = try Self.keySet()
        let keys = Dictionary(uniqueKeysWithValues: try set.keys.map { ($0.keyID, try Self.verificationKey($0)) })
        var generator = SeededGenerator(seed: 0x10)
        var verified = 0
        for _ in 0..<10_000 {
            var bytes = original
            let index = Int.random(in: 0..<bytes.count, using: &generator)
            // Mostly characters of base64url, because the parser refuses the others.
            let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
            repeat {
                bytes[index] =
                    Bool.random(using: &generator)
                    ? UInt8.random(in: 0...127, using: &generator) : digits.randomElement(using: &generator) ?? 0
            } while bytes[index] == original[index]
            guard let token = try? JSONWebToken(parsing: String(decoding: bytes, as: UTF8.self)),
                let key = set.key(for: token).flatMap({ keys[$0.keyID] })
            else { continue }
            verified += 1
            #expect(!key.verify(token.signature, of: token.signingInput))
        }
        #expect(verified > 100, "the changes reach the verification of the signature")
    }
}
