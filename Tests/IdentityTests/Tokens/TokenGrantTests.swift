import ChatterdBasics
import ChatterdIdentity
import Testing

@Suite struct TokenGrantTests {
    private func unsigned(_ grant: TokenGrant, keyID: String = "k1") throws -> UnsignedToken {
        try UnsignedToken(
            keyID: keyID, issuer: "chatterd", audience: "chatterd", issuedAt: 10, expiresAt: 20, grant: grant)
    }

    private func refusal(_ payload: String) -> TokenError.Code? {
        do {
            _ = try TokenGrant(of: try TokenText.token(payload))
            return nil
        } catch {
            return (error as? TokenError)?.code
        }
    }

    @Test func writtenTokenIsReadBack() throws {
        let grant = try TokenGrant(
            owner: Owner(app: "shop \"é\"", person: "ann/1"), scopes: [.chat, .read],
            conversations: [ExactText("b"), ExactText("a")],
            models: [],
            allowance: Allowance(requestsPerMinute: 1, tokensPerDay: 0, concurrentReplies: 3))
        let token = try JSONWebToken(parsing: try unsigned(grant).text(signature: [UInt8](repeating: 9, count: 64)))
        #expect(token.algorithm == .edDSA && token.keyID == "k1" && token.signature == [UInt8](repeating: 9, count: 64))
        #expect(
            token.claims
                == TokenClaims(
                    issuer: "chatterd", subject: "ann/1", audiences: ["chatterd"], expiresAt: 20, issuedAt: 10))
        #expect(try TokenGrant(of: token) == grant)
    }

    /// Clients and other programs may read it.
    @Test func formOfTheTokenIsStable() throws {
        let grant = try TokenGrant(
            owner: Owner(app: "shop", person: "ann"), scopes: [.read, .chat],
            conversations: [ExactText("b"), ExactText("a")],
            allowance: Allowance(requestsPerMinute: 5))
        let parts = String(decoding: try unsigned(grant).signingInput, as: UTF8.self).split(separator: ".").compactMap {
            Base64URL.decode($0).map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(parts[0] == #"{"alg":"EdDSA","kid":"k1","typ":"JWT"}"#)
        #expect(
            parts[1]
                == #"{"iss":"chatterd","sub":"ann","aud":"chatterd","exp":20,"iat":10,"app":"shop","scope":"chat read","#
                + #""conversations":["a","b"],"limits":{"requests_per_minute":5}}"#)
    }

    @Test func absentClaimsPermitAllAndEmptyListsNothing() throws {
        let all = try TokenGrant(of: try TokenText.token(#"{"app":"shop"}"#))
        #expect(all.owner == Owner(app: "shop") && all.scopes.isEmpty)
        #expect(all.conversations == nil && all.models == nil && all.allowance.isUnlimited)
        let none = try TokenGrant(of: try TokenText.token(#"{"app":"shop","conversations":[],"models":[]}"#))
        #expect(none.conversations == [] && none.models == [])
    }

    /// The two names look the same, and are two conversations for the database.
    @Test func namesAreBytes() throws {
        let grant = try TokenGrant(of: try TokenText.token(#"{"app":"a","conversations":["\u00e9","e\u0301"]}"#))
        #expect(grant.conversations == [ExactText("\u{e9}"), ExactText("e\u{301}")] && grant.conversations?.count == 2)
    }

    @Test func unknownScopesAreIgnored() throws {
        let grant = try TokenGrant(of: try TokenText.token(#"{"app":"shop","scope":" read openid  later chatty"}"#))
        #expect(grant.scopes == [.read])
    }

    @Test(arguments: [
        "{}", #"{"app":null}"#, #"{"app":7}"#, #"{"app":"a","scope":["read"]}"#, #"{"app":"a","conversations":"b"}"#,
        #"{"app":"a","conversations":[7]}"#, #"{"app":"a","models":{}}"#, #"{"app":"a","limits":5}"#,
        #"{"app":"a","limits":[]}"#,
        #"{"app":"a","limits":{"tokens_per_day":-1}}"#, #"{"app":"a","limits":{"tokens_per_day":1.5}}"#,
        #"{"app":"a","limits":{"tokens_per_day":"1"}}"#,
        #"{"app":"a","limits":{"tokens_per_day":1,"tokens_per_day":2}}"#,
        #"{"app":"a","limits":{"concurrent_replies":1000000000001}}"#,
    ])
    func otherClaimsAreRefused(payload: String) {
        #expect(refusal(payload) == .malformed)
    }

    @Test(arguments: [
        #"{"app":""}"#, #"{"app":"a\u001fb"}"#, #"{"app":"a","sub":""}"#, #"{"app":"a","sub":"b\u001f"}"#,
        #"{"app":"a","conversations":[""]}"#, #"{"app":"a","conversations":["b\n"]}"#, #"{"app":"a","models":[""]}"#,
        #"{"app":"a","models":["b\n"]}"#,
    ])
    func otherNamesAreRefused(payload: String) {
        #expect(refusal(payload) == .invalidName)
    }

    @Test func namesAreLimited() {
        let names = { (count: Int) in (0..<count).map { "\"\($0)\"" }.joined(separator: ",") }
        for claim in ["conversations", "models"] {
            #expect(refusal(#"{"app":"a","\#(claim)":[\#(names(64))]}"#) == nil)
            #expect(refusal(#"{"app":"a","\#(claim)":[\#(names(65))]}"#) == .malformed)
        }
        let app = String(repeating: "é", count: Owner.maximumAppLength)
        #expect(refusal(#"{"app":"\#(app)"}"#) == nil)
        #expect(refusal(#"{"app":"\#(app)x"}"#) == .invalidName)
        let model = String(repeating: "m", count: TokenGrant.maximumModelLength)
        #expect(refusal(#"{"app":"a","models":["\#(model)"]}"#) == nil)
        #expect(refusal(#"{"app":"a","models":["\#(model)m"]}"#) == .malformed)
    }

    @Test func grantThatCannotBeReadIsNotMade() {
        let many = Set((0..<65).map { ExactText("\($0)") })
        #expect(throws: TokenError.self) { try TokenGrant(owner: Owner(app: "a"), scopes: [], conversations: many) }
        #expect(throws: TokenError.self) { try TokenGrant(owner: Owner(app: "a"), scopes: [], models: many) }
        #expect(throws: TokenError.self) { try TokenGrant(owner: Owner(app: ""), scopes: []) }
        #expect(throws: TokenError.self) { try TokenGrant(owner: Owner(app: "a", person: "\u{1F}"), scopes: []) }
        #expect(throws: TokenError.self) {
            try TokenGrant(owner: Owner(app: "a"), scopes: [], allowance: Allowance(tokensPerDay: -1))
        }
    }

    @Test func tokenBeyondItsLimitIsNotWritten() throws {
        let long = Set((0..<64).map { ExactText("\($0)" + String(repeating: "x", count: 100)) })
        let grant = try TokenGrant(owner: Owner(app: "a"), scopes: [.chat], conversations: long)
        #expect(throws: TokenError.tooLarge) { try unsigned(grant) }
    }

    /// The limit of the writer is that of the parser: what one writes the other reads.
    @Test func longestWrittenTokenIsRead() throws {
        var longest = 0
        for count in 80...120 {
            let names = Set((0..<56).map { ExactText("\($0 + 10)" + String(repeating: "x", count: count)) })
            let grant = try TokenGrant(owner: Owner(app: "a"), scopes: [.chat], conversations: names)
            guard let token = try? unsigned(grant) else { break }
            let text = token.text(signature: [UInt8](repeating: 1, count: 64))
            #expect(try TokenGrant(of: try JSONWebToken(parsing: text)) == grant)
            longest = text.utf8.count
        }
        #expect(longest > JSONWebToken.maximumLength - 100)
    }

    @Test func keyOfAWrittenTokenHasAName() throws {
        let grant = try TokenGrant(owner: Owner(app: "a"), scopes: [])
        #expect(throws: TokenError.missingKeyID) { try unsigned(grant, keyID: "") }
        #expect(throws: TokenError.missingKeyID) { try unsigned(grant, keyID: String(repeating: "k", count: 129)) }
    }
}
