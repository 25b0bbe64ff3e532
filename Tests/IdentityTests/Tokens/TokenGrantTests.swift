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
            owner: Owner(app: "shop \"é\"", person: "ann/1"), key: "k", scopes: [.chat, .read],
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
            owner: Owner(app: "shop", person: "ann"), key: "k", scopes: [.read, .chat],
            conversations: [ExactText("b"), ExactText("a")],
            allowance: Allowance(requestsPerMinute: 5))
        let parts = String(decoding: try unsigned(grant).signingInput, as: UTF8.self).split(separator: ".").compactMap {
            Base64URL.decode($0).map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(parts[0] == #"{"alg":"EdDSA","kid":"k1","typ":"JWT"}"#)
        #expect(
            parts[1]
                == #"{"iss":"chatterd","sub":"ann","aud":"chatterd","exp":20,"iat":10,"app":"shop","key":"k","scope":"chat read","#
                + #""conversations":["a","b"],"limits":{"requests_per_minute":5}}"#)
    }

    @Test func absentClaimsPermitAllAndEmptyListsNothing() throws {
        let all = try TokenGrant(of: try TokenText.token(#"{"key":"k","app":"shop"}"#))
        #expect(all.owner == Owner(app: "shop") && all.scopes.isEmpty)
        #expect(all.conversations == nil && all.models == nil && all.allowance.isUnlimited)
        let none = try TokenGrant(of: try TokenText.token(#"{"key":"k","app":"shop","conversations":[],"models":[]}"#))
        #expect(none.conversations == [] && none.models == [])
    }

    /// The two names look the same, and are two conversations for the database.
    @Test func namesAreBytes() throws {
        let grant = try TokenGrant(
            of: try TokenText.token(#"{"key":"k","app":"a","conversations":["\u00e9","e\u0301"]}"#))
        #expect(grant.conversations == [ExactText("\u{e9}"), ExactText("e\u{301}")] && grant.conversations?.count == 2)
    }

    @Test func unknownScopesAreIgnored() throws {
        let grant = try TokenGrant(
            of: try TokenText.token(#"{"key":"k","app":"shop","scope":" read openid  later chatty"}"#))
        #expect(grant.scopes == [.read])
    }

    @Test(arguments: [
        "{}", #"{"key":"k","app":null}"#, #"{"key":"k","app":7}"#, #"{"key":"k","app":"a","scope":["read"]}"#,
        #"{"key":"k","app":"a","conversations":"b"}"#,
        #"{"key":"k","app":"a","conversations":[7]}"#, #"{"key":"k","app":"a","models":{}}"#,
        #"{"key":"k","app":"a","limits":5}"#,
        #"{"key":"k","app":"a","limits":[]}"#,
        #"{"key":"k","app":"a","limits":{"tokens_per_day":-1}}"#,
        #"{"key":"k","app":"a","limits":{"tokens_per_day":1.5}}"#,
        #"{"key":"k","app":"a","limits":{"tokens_per_day":"1"}}"#,
        #"{"key":"k","app":"a","limits":{"tokens_per_day":1,"tokens_per_day":2}}"#,
        #"{"key":"k","app":"a","limits":{"concurrent_replies":1000000000001}}"#,
    ])
    func otherClaimsAreRefused(payload: String) {
        #expect(refusal(payload) == .malformed)
    }

    @Test(arguments: [
        #"{"key":"k","app":""}"#, #"{"key":"k","app":"a\u001fb"}"#, #"{"key":"k","app":"a","sub":""}"#,
        #"{"key":"k","app":"a","sub":"b\u001f"}"#,
        #"{"key":"k","app":"a","conversations":[""]}"#, #"{"key":"k","app":"a","conversations":["b\n"]}"#,
        #"{"key":"k","app":"a","models":[""]}"#,
        #"{"key":"k","app":"a","models":["b\n"]}"#,
    ])
    func otherNamesAreRefused(payload: String) {
        #expect(refusal(payload) == .invalidName)
    }

    @Test func namesAreLimited() {
        let names = { (count: Int) in (0..<count).map { "\"\($0)\"" }.joined(separator: ",") }
        for claim in ["conversations", "models"] {
            #expect(refusal(#"{"key":"k","app":"a","\#(claim)":[\#(names(64))]}"#) == nil)
            #expect(refusal(#"{"key":"k","app":"a","\#(claim)":[\#(names(65))]}"#) == .malformed)
        }
        let app = String(repeating: "é", count: Owner.maximumAppLength)
        #expect(refusal(#"{"key":"k","app":"\#(app)"}"#) == nil)
        #expect(refusal(#"{"key":"k","app":"\#(app)x"}"#) == .invalidName)
        let model = String(repeating: "m", count: TokenGrant.maximumModelLength)
        #expect(refusal(#"{"key":"k","app":"a","models":["\#(model)"]}"#) == nil)
        #expect(refusal(#"{"key":"k","app":"a","models":["\#(model)m"]}"#) == .malformed)
    }

    @Test func grantThatCannotBeReadIsNotMade() {
        let many = Set((0..<65).map { ExactText("\($0)") })
        #expect(throws: TokenError.self) {
            try TokenGrant(owner: Owner(app: "a"), key: "k", scopes: [], conversations: many)
        }
        #expect(throws: TokenError.self) { try TokenGrant(owner: Owner(app: "a"), key: "k", scopes: [], models: many) }
        #expect(throws: TokenError.self) { try TokenGrant(owner: Owner(app: ""), key: "k", scopes: []) }
        #expect(throws: TokenError.self) {
            try TokenGrant(owner: Owner(app: "a", person: "\u{1F}"), key: "k", scopes: [])
        }
        #expect(throws: TokenError.self) {
            try TokenGrant(owner: Owner(app: "a"), key: "k", scopes: [], allowance: Allowance(tokensPerDay: -1))
        }
    }

    @Test func tokenBeyondItsLimitIsNotWritten() throws {
        let long = Set((0..<64).map { ExactText("\($0)" + String(repeating: "x", count: 100)) })
        let grant = try TokenGrant(owner: Owner(app: "a"), key: "k", scopes: [.chat], conversations: long)
        #expect(throws: TokenError.tooLarge) { try unsigned(grant) }
    }

    /// The limit of the writer is that of the parser: what one writes the other reads.
    @Test func longestWrittenTokenIsRead() throws {
        let names = Set((10..<68).map { ExactText("\($0)" + String(repeating: "x", count: 95)) })
        var lengths: [Int] = []
        for count in 1...ConversationKey.maximumNameLength {
            let names = names.union([ExactText(String(repeating: "y", count: count))])
            let grant = try TokenGrant(owner: Owner(app: "a"), key: "k", scopes: [.chat], conversations: names)
            guard let token = try? unsigned(grant) else { break }
            let text = token.text(signature: [UInt8](repeating: 1, count: 64))
            #expect(try TokenGrant(of: try JSONWebToken(parsing: text)) == grant)
            lengths.append(text.utf8.count)
        }
        #expect(lengths.count < ConversationKey.maximumNameLength, "the longest ones are refused")
        #expect(JSONWebToken.maximumLength - 2...JSONWebToken.maximumLength ~= lengths.last ?? 0)
    }

    @Test func keyOfAWrittenTokenHasAName() throws {
        let grant = try TokenGrant(owner: Owner(app: "a"), key: "k", scopes: [])
        #expect(throws: TokenError.missingKeyID) { try unsigned(grant, keyID: "") }
        #expect(throws: TokenError.missingKeyID) { try unsigned(grant, keyID: String(repeating: "k", count: 129)) }
    }
}
