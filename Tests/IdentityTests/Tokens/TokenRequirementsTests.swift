import ChatterdBasics
import ChatterdIdentity
import Testing

@Suite struct TokenRequirementsTests {
    private static let now: Int64 = 1_000_000

    private func refusal(
        _ payload: String, needsPerson: Bool = true, algorithms: Set<SignatureAlgorithm> = [.edDSA]
    ) throws -> TokenError.Code? {
        let token = try TokenText.token(payload)
        let requirements = TokenRequirements(
            issuer: "i", audience: "a", algorithms: algorithms, needsPerson: needsPerson)
        do throws(TokenError) {
            try requirements.check(token, at: Self.now)
            return nil
        } catch {
            return error.code
        }
    }

    private func claims(
        iss: String = #""i""#, aud: String = #""a""#, sub: String = #""ann""#, exp: String = "1000001",
        rest: String = ""
    ) -> String {
        #"{"iss":\#(iss),"aud":\#(aud),"sub":\#(sub),"exp":\#(exp)\#(rest)}"#
    }

    @Test func rightTokenNamesThePerson() throws {
        let requirements = TokenRequirements(issuer: "i", audience: "a", needsPerson: true)
        #expect(try requirements.check(try TokenText.token(claims()), at: Self.now) == "ann")
        #expect(try requirements.check(try TokenText.token(claims(aud: #"["b","a"]"#)), at: Self.now) == "ann")
    }

    @Test func tokenIsExpiredFromItsEndOn() throws {
        #expect(try refusal(claims(exp: "1000001")) == nil)
        #expect(try refusal(claims(exp: "1000000")) == .expired)
        #expect(try refusal(claims(exp: "1000000.9")) == .expired)
        #expect(try refusal(claims(exp: "999999")) == .expired)
        #expect(try refusal(claims(exp: "0")) == .expired)
        #expect(try refusal(claims(exp: "null")) == .missingExpiry)
    }

    @Test func clockOfTheIssuerMayBe30SecondsAhead() throws {
        #expect(try refusal(claims(rest: #","nbf":1000000"#)) == nil)
        #expect(try refusal(claims(rest: #","nbf":1000030"#)) == nil)
        #expect(try refusal(claims(rest: #","nbf":1000030.1"#)) == .notYetValid)
        #expect(try refusal(claims(rest: #","nbf":1000031"#)) == .notYetValid)
    }

    @Test func issuerIsComparedByteByByte() throws {
        for other in [#""I""#, #""i/""#, #"" i""#, #""""#, "null", #""https://i""#] {
            #expect(try refusal(claims(iss: other)) == .wrongIssuer)
        }
        let composed = TokenRequirements(issuer: "\u{e9}", audience: "a", needsPerson: true)
        // Swift's strings compare equal, and the bytes differ.
        let token = try TokenText.token(claims(iss: #""e\u0301""#))
        #expect(throws: TokenError.wrongIssuer) { try composed.check(token, at: Self.now) }
    }

    @Test func audienceIsAmongThoseOfTheToken() throws {
        for other in [#""A""#, #"["b","c"]"#, "[]", "null", #""aa""#] {
            #expect(try refusal(claims(aud: other)) == .wrongAudience)
        }
    }

    @Test func algorithmIsOneOfTheIssuer() throws {
        #expect(try refusal(claims(), algorithms: [.rs256, .es256]) == .wrongAlgorithm)
        #expect(try refusal(claims(), algorithms: [.rs256, .edDSA]) == nil)
    }

    @Test func personIsRequiredWhereSaid() throws {
        #expect(try refusal(claims(sub: "null")) == .missingPerson)
        #expect(try refusal(claims(sub: #""""#)) == .missingPerson)
        #expect(try refusal(claims(sub: "null"), needsPerson: false) == nil)
        #expect(try refusal(claims(sub: #""""#), needsPerson: false) == nil)
    }

    @Test func personKeepsTheRulesOfNames() throws {
        let long = String(repeating: "é", count: Owner.maximumPersonLength)
        #expect(try refusal(claims(sub: "\"\(long)\"")) == nil)
        for name in ["\(long)x", #"a\u001fb"#, #"a\nb"#, #"\u007f"#, #"a\u0085"#] {
            #expect(try refusal(claims(sub: "\"\(name)\"")) == .invalidName)
            #expect(try refusal(claims(sub: "\"\(name)\""), needsPerson: false) == .invalidName)
        }
    }

    @Test func latestNumbersDoNotOverflow() throws {
        let token = try TokenText.token(claims(exp: "253402300799", rest: #","nbf":253402300799"#))
        let requirements = TokenRequirements(issuer: "i", audience: "a", needsPerson: true)
        #expect(throws: TokenError.notYetValid) { try requirements.check(token, at: Self.now) }
        #expect(throws: TokenError.expired) {
            try requirements.check(token, at: .max - TokenRequirements.notBeforeLeeway)
        }
    }
}
