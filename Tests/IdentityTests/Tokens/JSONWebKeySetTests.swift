import ChatterdBasics
import ChatterdIdentity
import Testing

@Suite struct JSONWebKeySetTests {
    private func parse(_ text: String) throws -> JSONWebKeySet { try JSONWebKeySet(parsing: Array(text.utf8)) }

    private func refusal(_ text: String) -> TokenError.Code? {
        do {
            _ = try parse(text)
            return nil
        } catch {
            return (error as? TokenError)?.code
        }
    }

    private static let rsa = #"{"kty":"RSA","kid":"r","use":"sig","alg":"RS256","n":"AQID","e":"AQAB"}"#
    private static let p256 = #"{"kty":"EC","kid":"e","crv":"P-256","x":"AQ","y":"Ag","key_ops":["verify"]}"#
    private static let ed25519 = #"{"kty":"OKP","kid":"o","crv":"Ed25519","x":"AQ"}"#

    @Test func keysAreRead() throws {
        let set = try parse(#"{"keys":[\#(Self.rsa),\#(Self.p256),\#(Self.ed25519)],"more":1}"#)
        #expect(
            set.keys == [
                JSONWebKey(keyID: "r", material: .rsa(modulus: [1, 2, 3], exponent: [1, 0, 1])),
                JSONWebKey(keyID: "e", material: .p256(x: [1], y: [2])),
                JSONWebKey(keyID: "o", material: .ed25519(x: [1])),
            ])
        #expect(set.keys.map(\.algorithm) == [.rs256, .es256, .edDSA])
        #expect(set.ignoredKeys == 0)
    }

    @Test(arguments: [
        #"{"kty":"oct","kid":"k","k":"AQID"}"#, #"{"kty":"EC","kid":"k","crv":"P-384","x":"AQ","y":"AQ"}"#,
        #"{"kty":"EC","kid":"k","crv":"secp256k1","x":"AQ","y":"AQ"}"#,
        #"{"kty":"OKP","kid":"k","crv":"X25519","x":"AQ"}"#,
        #"{"kty":"OKP","kid":"k","crv":"Ed448","x":"AQ"}"#, #"{"kty":"RSA","kid":"k","use":"enc","n":"AQ","e":"AQ"}"#,
        #"{"kty":"RSA","kid":"k","use":["sig"],"n":"AQ","e":"AQ"}"#,
        #"{"kty":"RSA","kid":"k","alg":"RS512","n":"AQ","e":"AQ"}"#,
        #"{"kty":"RSA","kid":"k","alg":"PS256","n":"AQ","e":"AQ"}"#,
        #"{"kty":"RSA","kid":"k","alg":"HS256","n":"AQ","e":"AQ"}"#,
        #"{"kty":"RSA","kid":"k","alg":7,"n":"AQ","e":"AQ"}"#,
        #"{"kty":"RSA","kid":"k","key_ops":["encrypt"],"n":"AQ","e":"AQ"}"#,
        #"{"kty":"RSA","kid":"k","key_ops":"verify","n":"AQ","e":"AQ"}"#, #"{"kty":"RSA","n":"AQ","e":"AQ"}"#,
        #"{"kty":"RSA","kid":"","n":"AQ","e":"AQ"}"#, #"{"kty":"RSA","kid":7,"n":"AQ","e":"AQ"}"#,
        #"{"kty":"RSA","kid":"k","n":"AQ"}"#,
        #"{"kty":"RSA","kid":"k","n":"A+","e":"AQ"}"#, #"{"kty":"RSA","kid":"k","n":"AQ==","e":"AQ"}"#,
        #"{"kty":"EC","kid":"k","crv":"P-256","x":"AQ"}"#, #"{"kty":"rsa","kid":"k","n":"AQ","e":"AQ"}"#,
        #"{"kid":"k"}"#, "{}", "7",
        "null", #""key""#, "[]", #"{"kty":"RSA","kty":"RSA","kid":"k","n":"AQ","e":"AQ"}"#,
    ])
    func otherKeyIsIgnored(key: String) throws {
        let set = try parse(#"{"keys":[\#(key),\#(Self.rsa)]}"#)
        #expect(set.keys.map(\.keyID) == ["r"])
        #expect(set.ignoredKeys == 1)
    }

    @Test(arguments: [
        "", "{", "[]", "null", "<html>404</html>", "{}", #"{"keys":null}"#, #"{"keys":{}}"#, #"{"keys":"k"}"#,
        #"{"keys":[}"#,
        #"{"keys":[],"keys":[]}"#, #"{"keys":[]} x"#, #"{"keys":[1 2]}"#,
    ])
    func otherTextIsRefused(text: String) {
        #expect(refusal(text) == .malformed)
    }

    @Test func bytesThatAreNotUTF8AreRefused() {
        #expect(throws: TokenError.self) { try JSONWebKeySet(parsing: [0xFF, 0xFE]) }
    }

    @Test func emptySetIsASet() throws {
        #expect(try parse(#"{"keys":[]}"#).keys.isEmpty)
    }

    @Test func keysAreLimited() throws {
        let keys = { (count: Int) in (0..<count).map { _ in Self.rsa }.joined(separator: ",") }
        #expect(try parse(#"{"keys":[\#(keys(64))]}"#).keys.count == 64)
        #expect(refusal(#"{"keys":[\#(keys(65))]}"#) == .tooLarge)
        #expect(refusal("{\"keys\":[\(String(repeating: "1,", count: 100_000))1]}") == .tooLarge)
    }

    @Test func textIsLimited() throws {
        let start = #"{"keys":["#
        let space = String(repeating: " ", count: JSONWebKeySet.maximumSize - start.utf8.count - 2)
        #expect(try parse("\(start)\(space)]}").keys.isEmpty)
        #expect(refusal("\(start)\(space) ]}") == .tooLarge)
    }

    @Test func keyWithALongNumberIsIgnored() throws {
        let long = String(repeating: "AAAA", count: JSONWebKeySet.maximumMemberLength / 4 + 1)
        let set = try parse(#"{"keys":[{"kty":"RSA","kid":"k","n":"\#(long)","e":"AQ"}]}"#)
        #expect(set.keys.isEmpty && set.ignoredKeys == 1)
    }

    /// The largest modulus that a key may have fits.
    @Test func keyOf8192BitsIsRead() throws {
        let modulus = [UInt8](repeating: 0xFF, count: 1_025)
        let set = try parse(#"{"keys":[{"kty":"RSA","kid":"k","n":"\#(Base64URL.encode(modulus))","e":"AQAB"}]}"#)
        #expect(set.keys.map(\.material) == [.rsa(modulus: modulus, exponent: [1, 0, 1])])
    }

    @Test func keyOfATokenHasItsNameAndAlgorithm() throws {
        let set = try parse(
            #"{"keys":[{"kty":"RSA","kid":"k1","n":"AQ","e":"AQ"},\#(Self.ed25519),{"kty":"OKP","kid":"k1","crv":"Ed25519","x":"Ag"}]}"#
        )
        #expect(set.key(for: try TokenText.token("{}"))?.material == .ed25519(x: [2]))
        let other = try JSONWebToken(parsing: TokenText.make("{}", header: #"{"alg":"ES256","kid":"k1"}"#))
        #expect(set.key(for: other) == nil)
        let unknown = try JSONWebToken(parsing: TokenText.make("{}", header: #"{"alg":"EdDSA","kid":"K1"}"#))
        #expect(set.key(for: unknown) == nil)
    }
}
