import ChatterdBasics
import ChatterdIdentity
import ChatterdTestSupport
import Testing

@Suite struct JSONWebTokenTests {
    private static let payload =
        #"{"iss":"i","sub":"ann","aud":["a","b"],"exp":2000000000,"nbf":1.5,"iat":7,"nonce":"x","deep":{"a":[1]}}"#

    @Test func tokenIsParsed() throws {
        let text = TokenText.make(Self.payload)
        let token = try JSONWebToken(parsing: text)
        #expect(token.algorithm == .edDSA && token.keyID == "k1")
        #expect(token.claims.issuer == "i" && token.claims.subject == "ann" && token.claims.audiences == ["a", "b"])
        #expect(token.claims.expiresAt == 2_000_000_000 && token.claims.issuedAt == 7)
        #expect(token.signature == [1, 2, 3])
        #expect(String(decoding: token.payload, as: UTF8.self) == Self.payload)
        #expect(String(decoding: token.signingInput, as: UTF8.self) + ".AQID" == text)
    }

    @Test(arguments: [("EdDSA", SignatureAlgorithm.edDSA), ("ES256", .es256), ("RS256", .rs256)])
    func algorithmIsNamed(name: String, algorithm: SignatureAlgorithm) throws {
        let token = try JSONWebToken(parsing: TokenText.make("{}", header: #"{"alg":"\#(name)","kid":"k"}"#))
        #expect(token.algorithm == algorithm)
        try token.require(algorithm)
        for other in SignatureAlgorithm.allCases where other != algorithm {
            #expect(throws: TokenError.wrongAlgorithm) { try token.require(other) }
        }
    }

    @Test(arguments: [
        "none", "None", "NONE", "nOnE", "", "HS256", "HS512", "RS384", "RS512", "PS256", "ES384", "ES256K", "eddsa",
        "rs256", "Ed25519",
    ])
    func otherAlgorithmIsRefused(name: String) {
        #expect(TokenText.refusal(TokenText.make("{}", header: #"{"alg":"\#(name)","kid":"k"}"#)) == .wrongAlgorithm)
    }

    @Test(arguments: [
        (#"{"kid":"k"}"#, TokenError.Code.wrongAlgorithm),
        (#"{"alg":null,"kid":"k"}"#, .wrongAlgorithm),
        (#"{"alg":["EdDSA"],"kid":"k"}"#, .malformed),
        (#"{"alg":"EdDSA"}"#, .missingKeyID),
        (#"{"alg":"EdDSA","kid":null}"#, .missingKeyID),
        (#"{"alg":"EdDSA","kid":""}"#, .missingKeyID),
        (#"{"alg":"EdDSA","kid":7}"#, .missingKeyID),
        (#"{"alg":"EdDSA","kid":"a\u0000"}"#, .missingKeyID),
        (#"{"alg":"EdDSA","kid":"k","crit":["b64"],"b64":false}"#, .criticalExtension),
        (#"{"alg":"EdDSA","kid":"k","crit":[]}"#, .criticalExtension),
        (#"{"alg":"EdDSA","kid":"k","crit":null}"#, .criticalExtension),
        (#"{"alg":"EdDSA","kid":"k","enc":"A256GCM"}"#, .encrypted),
        (#"{"alg":"EdDSA","kid":"k","typ":"logout+jwt"}"#, .wrongType),
        (#"{"alg":"EdDSA","kid":"k","typ":"dpop+jwt"}"#, .wrongType),
        (#"{"alg":"EdDSA","kid":"k","typ":""}"#, .wrongType),
        (#"{"alg":"EdDSA","alg":"EdDSA","kid":"k"}"#, .malformed),
        (#"{"alg":"EdDSA","\u0061lg":"none","kid":"k"}"#, .malformed),
        (#"["EdDSA"]"#, .malformed), ("EdDSA", .malformed), ("", .malformed),
        (#"{"alg":"EdDSA","kid":"k"} {}"#, .malformed),
    ])
    func otherHeaderIsRefused(header: String, code: TokenError.Code) {
        #expect(TokenText.refusal(TokenText.make("{}", header: header)) == code)
    }

    @Test(arguments: ["JWT", "jwt", "at+jwt", "application/at+jwt"])
    func typeOfACredentialIsAccepted(type: String) {
        #expect(TokenText.refusal(TokenText.make("{}", header: #"{"alg":"EdDSA","kid":"k","typ":"\#(type)"}"#)) == nil)
    }

    @Test func longestKeyIDIsAccepted() {
        for (count, code) in [(128, nil), (129, TokenError.Code.missingKeyID)] {
            let header = #"{"alg":"EdDSA","kid":"\#(String(repeating: "k", count: count))"}"#
            #expect(TokenText.refusal(TokenText.make("{}", header: header)) == code)
        }
    }

    @Test(arguments: [
        #"[]"#, "1", "null", "", "{", #"{"iss":"i"}x"#, #"{"iss":"i","iss":"i"}"#, #"{"x":1,"x":2}"#, #"{"iss":7}"#,
        #"{"aud":7}"#, #"{"aud":{"a":1}}"#, #"{"aud":["a",7]}"#, #"{"sub":["ann"]}"#, #"{"sub":"a\ud800"}"#,
        #"{"iss":"\u0000"}"#,
        "{\"iss\":\"\u{1}\"}",
    ])
    func otherClaimsAreRefused(payload: String) {
        #expect(TokenText.refusal(TokenText.make(payload)) == .malformed)
    }

    @Test func claimsThatAreNotUTF8AreRefused() {
        let bytes = Array(#"{"iss":""#.utf8) + [0xC3, 0x28] + Array(#""}"#.utf8)
        let header = Base64URL.encode(Array(TokenText.header.utf8))
        #expect(TokenText.refusal("\(header).\(Base64URL.encode(bytes)).AQID") == .malformed)
    }

    @Test(arguments: ["exp", "nbf", "iat"])
    func dateIsANumberWithinItsRange(name: String) {
        for value in ["0", "1", "1.5", "2e9", "2.0E+9", "253402300799"] {
            #expect(TokenText.refusal(TokenText.make(#"{"\#(name)":\#(value)}"#)) == nil, "\(value)")
        }
        for value in [
            "-1", "253402300800", "1e300", "1e999", "\"2000000000\"", "true", "[1]", "0x10",
            "1.0000000000000000000000000000000",
        ] {
            #expect(TokenText.refusal(TokenText.make(#"{"\#(name)":\#(value)}"#)) == .malformed, "\(value)")
        }
    }

    /// A rounded date never makes the token valid for longer.
    @Test func fractionsOfDatesAreRounded() throws {
        let claims = try TokenText.token(#"{"exp":10.9,"nbf":10.1,"iat":10.9}"#).claims
        #expect(claims.expiresAt == 10 && claims.notBefore == 11 && claims.issuedAt == 10)
    }

    @Test func audiencesAreLimited() {
        for (count, code) in [(0, nil), (16, nil), (17, TokenError.Code.malformed)] {
            let names = (0..<count).map { "\"\($0)\"" }.joined(separator: ",")
            #expect(TokenText.refusal(TokenText.make("{\"aud\":[\(names)]}")) == code)
        }
    }

    @Test func membersAreLimited() {
        for (count, code) in [(64, nil), (65, TokenError.Code.malformed)] {
            let members = (0..<count).map { "\"m\($0)\":1" }.joined(separator: ",")
            #expect(TokenText.refusal(TokenText.make("{\(members)}")) == code)
        }
    }

    @Test func textsAreLimited() {
        for (count, code) in [(1_024, nil), (1_025, TokenError.Code.malformed)] {
            for name in ["iss", "sub", "aud"] {
                #expect(
                    TokenText.refusal(TokenText.make(#"{"\#(name)":"\#(String(repeating: "x", count: count))"}"#))
                        == code)
            }
        }
    }

    @Test func deepClaimsAreRefused() {
        let deep = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
        #expect(TokenText.refusal(TokenText.make("{\"a\":\(deep)}")) == .malformed)
    }

    @Test func longTokenIsRefused() {
        let text = TokenText.make("{}")
        #expect(
            TokenText.refusal(text + String(repeating: "A", count: JSONWebToken.maximumLength - text.utf8.count))
                != .tooLarge)
        #expect(
            TokenText.refusal(text + String(repeating: "A", count: JSONWebToken.maximumLength - text.utf8.count + 1))
                == .tooLarge)
        #expect(TokenText.refusal(String(repeating: "é", count: JSONWebToken.maximumLength)) == .tooLarge)
    }

    @Test func textWithOtherPartsIsRefused() {
        let text = TokenText.make("{}")
        for other in [
            "", ".", "..", "...", "x", "a.b", text + ".", "." + text, text + "=", text + "\n", " " + text,
            "Bearer " + text,
        ] {
            #expect(TokenText.refusal(other) == .malformed, "\(other)")
        }
        #expect(TokenText.refusal("a.b.c.d.e") == .encrypted)
        #expect(TokenText.refusal("....") == .encrypted)
    }

    /// RFC 7519, section 6.1: a token without a signature.
    @Test func tokenWithoutSignatureIsRefused() {
        #expect(TokenText.refusal(TokenText.make("{}", signature: [])) == .malformed)
        #expect(TokenText.refusal(TokenText.make("{}", header: #"{"alg":"none"}"#, signature: [])) == .wrongAlgorithm)
    }

    @Test func claimedIssuerIsReadFromRefusedTokensToo() {
        #expect(JSONWebToken.claimedIssuer(of: TokenText.make(#"{"iss":"i"}"#)) == "i")
        #expect(
            JSONWebToken.claimedIssuer(of: TokenText.make(#"{"iss":"i"}"#, header: #"{"alg":"none"}"#, signature: []))
                == "i")
        #expect(JSONWebToken.claimedIssuer(of: TokenText.make("{}")) == nil)
        #expect(JSONWebToken.claimedIssuer(of: TokenText.make(#"{"iss":7}"#)) == nil)
        #expect(JSONWebToken.claimedIssuer(of: "none") == nil)
        #expect(JSONWebToken.claimedIssuer(of: String(repeating: "a", count: 10_000)) == nil)
    }

    /// A crash of the parser would end the server.
    @Test func randomTextsAreRefusedOrParsed() {
        var generator = SeededGenerator(seed: 7)
        let original = Array(TokenText.make(Self.payload).utf8)
        var refused = 0
        for _ in 0..<2_000 {
            var payload = Array(Self.payload.utf8)
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                payload[Int.random(in: payload.indices, using: &generator)] = UInt8.random(
                    in: 0...255, using: &generator)
            }
            let text = TokenText.make(String(decoding: payload, as: UTF8.self))
            if TokenText.refusal(text) != nil { refused += 1 }
            let cut = original.prefix(Int.random(in: 0..<original.count, using: &generator))
            if TokenText.refusal(String(decoding: cut, as: UTF8.self)) != nil { refused += 1 }
        }
        #expect(refused > 1_000)
    }

    /// The texts go to clients and logs.
    @Test func reasonsShowNothingOfTheToken() {
        var generator = SeededGenerator(seed: 9)
        for claim in ["iss", "sub", "aud", "exp", "app"] {
            let secret = String(UInt64.random(in: 1 << 60 ... .max, using: &generator))
            let text = TokenText.make(
                #"{"\#(claim)":["\#(secret)",7]}"#, header: #"{"alg":"EdDSA","kid":"\#(secret)"}"#)
            do throws(TokenError) {
                _ = try JSONWebToken(parsing: text)
            } catch {
                #expect(!"\(error)".contains(secret))
            }
        }
    }
}
