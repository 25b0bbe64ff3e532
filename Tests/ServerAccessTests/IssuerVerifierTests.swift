import ChatterdDialects
import ChatterdHTTP
import ChatterdIdentity
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// Tokens of external issuers, whose keys come over TLS.
@Suite(.timeLimit(.minutes(30))) struct IssuerVerifierTests {
    private let key = IssuerKey("k1")

    @Test func tokenHasThePrincipalOfItsPerson() async throws {
        let server = try IssuerServer(.keys(IssuerKey.set(key)))
        let stage = try IssuerStage(server)
        var expected = Principal(
            owner: Owner(app: "shop", person: "idp:ann"), scopes: [.chat, .read],
            credential: .issuer("https://accounts.example", issuedAt: 1_999_999_000))
        expected.expiresAt = 2_000_000_000
        let found = try await stage.verifier.principal(of: key.token(), now: IssuerStage.now)
        #expect(found == expected)
        let undated = try await stage.verifier.principal(of: key.token(["iat": ""]), now: IssuerStage.now)
        #expect(undated?.credential == .issuer("https://accounts.example", issuedAt: 0))
        #expect(server.requests == 1)
    }

    @Test(arguments: [
        "", "none", "chatterd_0011", "a.b.c", IssuerKey("k1").token(["iss": #""https://other.example""#]),
        IssuerKey("k1").token(["iss": #""https://accounts.example/""#]), IssuerKey("k1").token(["iss": ""]),
        IssuerKey("k1").token(["iss": #""chatterd""#]),
        IssuerKey("k1").token(["x": "\"\(String(repeating: "x", count: JSONWebToken.maximumLength))\""]),
    ])
    func otherTextIsOfNoIssuer(_ text: String) async throws {
        let server = try IssuerServer(.keys(IssuerKey.set(key)))
        let stage = try IssuerStage(server)
        #expect(await stage.outcome(text) == nil)
        #expect(server.requests == 0)
    }

    /// A token that cannot be valid costs no fetch.
    @Test(arguments: [
        (["alg": #""none""#], [:]), (["alg": #""HS256""#], [:]), (["kid": ""], [:]), (["kid": #""""#], [:]),
        (["typ": #""logout+jwt""#], [:]), (["crit": #"["x"]"#], [:]), (["alg": #""RS256""#], [:]),
        ([:], ["exp": "1999999500"]), ([:], ["exp": ""]), ([:], ["nbf": "1999999531"]), ([:], ["aud": #""other""#]),
        ([:], ["aud": ""]), ([:], ["aud": #"["a","b"]"#]), ([:], ["sub": ""]), ([:], ["sub": #""""#]),
        ([:], ["sub": "7"]),
        ([:], ["sub": #""a\u001f""#]), ([:], ["sub": "\"\(String(repeating: "a", count: 252))\""]),
    ])
    func wrongTokenIsRefusedWithoutAFetch(header: [String: String], claims: [String: String]) async throws {
        let server = try IssuerServer(.keys(IssuerKey.set(key)))
        // The issuer may use one algorithm only.
        let stage = try IssuerStage(
            keys:
                #""algorithms":["EdDSA"],"jwks_url":"https://localhost:\#(server.port)/","ca_file":"\#(server.files.authority)""#,
            on: server.shard)
        #expect(await stage.outcome(key.token(header: header, claims)) == "unauthorized")
        #expect(server.requests == 0)
        #expect(await stage.outcome(key.token()) == "idp:ann")
    }

    @Test(arguments: [
        ["exp": "1999999501"], ["nbf": "1999999530"], ["aud": #"["other","shop-client"]"#],
        ["sub": "\"\(String(repeating: "a", count: 251))\""],
    ])
    func tokenJustWithinItsLimitsIsAccepted(_ claims: [String: String]) async throws {
        let server = try IssuerServer(.keys(IssuerKey.set(key)))
        #expect(try await IssuerStage(server).outcome(key.token(claims))?.hasPrefix("idp:a") == true)
    }

    @Test func otherSignatureIsRefused() async throws {
        let server = try IssuerServer(.keys(IssuerKey.set(key)))
        let stage = try IssuerStage(server)
        #expect(await stage.outcome(IssuerKey("k1").token()) == "unauthorized")
        let parts = key.token().split(separator: ".")
        let other = key.token(["sub": #""bob""#]).split(separator: ".")
        #expect(await stage.outcome("\(parts[0]).\(other[1]).\(parts[2])") == "unauthorized")
        #expect(await stage.outcome(key.token()) == "idp:ann")
    }

    @Test func issuersOfAnAppNameDifferentPeople() async throws {
        let other = IssuerKey("k1")
        let server = try IssuerServer(.keys(IssuerKey.set(key)))
        let second = try IssuerServer(.keys(IssuerKey.set(other)))
        let stage = try IssuerStage(
            server,
            more: [
                #"{"app":"shop","issuer":"https://b.example","audience":"shop-client","person_prefix":"b:","jwks_url":"https://localhost:\#(second.port)","ca_file":"\#(second.files.authority)"}"#
            ])
        let ofOther = ["iss": #""https://b.example""#]
        #expect(await stage.outcome(key.token()) == "idp:ann")
        #expect(await stage.outcome(other.token(ofOther)) == "b:ann")
        // The keys of an issuer sign its own tokens only.
        #expect(await stage.outcome(key.token(ofOther)) == "unauthorized")
        #expect(await stage.outcome(other.token()) == "unauthorized")
    }

    @Test func audienceChoosesTheApp() async throws {
        let server = try IssuerServer(.keys(IssuerKey.set(key)))
        let source = #""jwks_url":"https://localhost:\#(server.port)/jwks","ca_file":"\#(server.files.authority)""#
        let stage = try IssuerStage(
            server,
            more: [
                #"{"app":"shop","issuer":"https://accounts.example","audience":"web","person_prefix":"idp:",\#(source)}"#,
                #"{"app":"other","issuer":"https://accounts.example","audience":"other","person_prefix":"idp:",\#(source)}"#,
                #"{"app":"shop","issuer":"https://accounts.example","audience":"tv","person_prefix":"tv:",\#(source)}"#,
            ])
        let owner = try await stage.verifier.principal(of: key.token(["aud": #""other""#]), now: IssuerStage.now)?.owner
        #expect(owner == Owner(app: "other", person: "idp:ann"))
        #expect(await stage.outcome(key.token(["aud": #"["web","shop-client"]"#])) == "idp:ann")
        // Two apps, and two names of the person.
        #expect(await stage.outcome(key.token(["aud": #"["other","shop-client"]"#])) == "unauthorized")
        #expect(await stage.outcome(key.token(["aud": #"["shop-client","tv"]"#])) == "unauthorized")
        // Entries with the same source share its keys.
        #expect(server.requests == 1)
    }

    // MARK: - Key rotation

    @Test func newKeyWorksAfterOneFetch() async throws {
        let (old, new) = (key, IssuerKey("k2"))
        let server = try IssuerServer(.keys(IssuerKey.set(old)))
        let stage = try IssuerStage(server)
        #expect(await stage.outcome(old.token()) == "idp:ann")
        server.answer(.keys(IssuerKey.set(new)))
        stage.advance(KeySetState.unknownKeyInterval)
        #expect(await stage.outcome(new.token()) == "idp:ann")
        #expect(server.requests == 2)
        // The issuer has removed the old key.
        #expect(await stage.outcome(old.token()) == "unauthorized")
        #expect(server.requests == 2)
        #expect(stage.log.count { $0.contains("keys of an issuer read") } == 2)
    }

    @Test func removedKeyIsRefusedAfterTheRefresh() async throws {
        let server = try IssuerServer(.keys(IssuerKey.set(key)))
        let stage = try IssuerStage(server)
        #expect(await stage.outcome(key.token()) == "idp:ann")
        server.answer(.none)
        stage.advance(KeySetState.refreshAge)
        // The old keys count while the new ones are fetched.
        #expect(await stage.outcome(key.token()) == "idp:ann")
        try await blocking { try server.waitForRequests(2) }
        #expect(await stage.outcome(key.token()) == "idp:ann")
        server.answer(.keys(IssuerKey.set(IssuerKey("k2"))))
        await stage.settle()
        #expect(await stage.outcome(key.token()) == "unauthorized")
        #expect(server.requests == 2)
    }

    @Test func unknownKeysCauseAtMostOneFetch() async throws {
        let server = try IssuerServer(.keys(IssuerKey.set(key)))
        let stage = try IssuerStage(server)
        #expect(await stage.outcome(key.token()) == "idp:ann")
        stage.advance(KeySetState.unknownKeyInterval)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<100 {
                group.addTask {
                    #expect(await stage.outcome(IssuerKey("invented\(number)").token()) == "unauthorized")
                }
            }
        }
        #expect(server.requests == 2)
        stage.advance(KeySetState.unknownKeyInterval - .nanoseconds(1))
        #expect(await stage.outcome(IssuerKey("invented").token()) == "unauthorized")
        #expect(server.requests == 2)
    }

    @Test func firstRequestsShareOneFetch() async throws {
        let server = try IssuerServer(.none)
        let stage = try IssuerStage(server)
        let token = key.token()
        let outcomes = (0..<10).map { _ in Task { await stage.outcome(token) } }
        try await blocking { try server.waitForRequests(1) }
        server.answer(.keys(IssuerKey.set(key)))
        for outcome in outcomes {
            #expect(await outcome.value == "idp:ann")
        }
        #expect(server.requests == 1)
    }

    // MARK: - Servers that fail

    @Test(arguments: [
        (IssuerServer.Answer.response("404 Not Found", "nothing here"), "answers 404 in place of 200"),
        (.response("302 Found", fields: ["Location: /keys"], ""), "redirects (302): set jwks_url to the final URL"),
        (.keys("<html>"), "not a set of keys"), (.keys("{}"), "not a set of keys"), (.keys("[]"), "not a set of keys"),
        (.keys(#"{"keys":7}"#), "not a set of keys"),
        (.keys(String(repeating: " ", count: JSONWebKeySet.maximumSize) + "{}"), "is larger than 262144 bytes"),
        (.response("200 OK", fields: ["Content-Length: x"], ""), "localhost"),
    ])
    func wrongAnswerMakesTheIssuerUnavailable(_ answer: IssuerServer.Answer, words: String) async throws {
        let server = try IssuerServer(answer)
        let stage = try IssuerStage(server)
        #expect(await stage.outcome(key.token()) == "issuer_unavailable")
        // The back-off has not passed.
        #expect(await stage.outcome(key.token()) == "issuer_unavailable")
        #expect(server.requests == 1)
        #expect(stage.log.count == 1)
        let line = try #require(stage.log.first)
        #expect(
            line.contains("keys of an issuer not read") && line.contains("accounts.example") && line.contains(words))
        #expect(!line.contains("nothing here"))

        // The same problem is logged once. Then the issuer recovers.
        stage.advance(.seconds(1))
        #expect(await stage.outcome(key.token()) == "issuer_unavailable")
        #expect(server.requests == 2 && stage.log.count == 1)
        server.answer(.keys(IssuerKey.set(key)))
        stage.advance(.seconds(2))
        #expect(await stage.outcome(key.token()) == "idp:ann")
        #expect(server.requests == 3 && stage.log.count == 2)
    }

    @Test func slowIssuerIsUnavailable() async throws {
        let server = try IssuerServer(.none)
        let stage = try IssuerStage(server, within: .milliseconds(100))
        #expect(await stage.outcome(key.token()) == "issuer_unavailable")
        #expect(stage.log.first?.contains("within 100ms") == true)
    }

    @Test func issuerWithAWrongCertificateIsUnavailable() async throws {
        let server = try IssuerServer(.keys(IssuerKey.set(key)), certificate: "wrong")
        #expect(try await IssuerStage(server).outcome(key.token()) == "issuer_unavailable")
        #expect(server.requests == 0)
    }

    @Test func issuerOfAnUnknownAuthorityIsUnavailable() async throws {
        let server = try IssuerServer(.keys(IssuerKey.set(key)))
        let stage = try IssuerStage(
            keys: #""jwks_url":"https://localhost:\#(server.port)/""#, on: server.shard)
        #expect(await stage.outcome(key.token()) == "issuer_unavailable")
        #expect(server.requests == 0)
    }

    @Test func missingAuthoritiesMakeTheIssuerUnavailable() async throws {
        let server = try IssuerServer(.keys(IssuerKey.set(key)))
        let stage = try IssuerStage(
            keys: #""jwks_url":"https://localhost:\#(server.port)/","ca_file":"/nowhere/ca.pem""#, on: server.shard)
        #expect(await stage.outcome(key.token()) == "issuer_unavailable")
        #expect(stage.log.first?.contains("the ca_file cannot be used") == true)
    }

    @Test func unreachableIssuerIsUnavailable() async throws {
        let port = try BoundPort.refusing()
        let server = try IssuerServer(.none)
        let stage = try IssuerStage(keys: #""jwks_url":"https://127.0.0.1:\#(port.port)/""#, on: server.shard)
        #expect(await stage.outcome(key.token()) == "issuer_unavailable")
    }

    @Test func unavailableIssuerHasARetryTime() async throws {
        let server = try IssuerServer(.keys("no"))
        let stage = try IssuerStage(server)
        let token = key.token()
        for delay in [1, 2, 4, 8, 16, 30, 30] {
            let error = await #expect(throws: RelayError.self) {
                try await stage.verifier.principal(of: token, now: IssuerStage.now)
            }
            #expect(error?.code == .access(.issuerUnavailable) && error?.code.isRetryable == true)
            #expect(error?.code.status == .serviceUnavailable)
            #expect(error?.retryAfter == .seconds(delay))
            stage.advance(.seconds(delay))
        }
        #expect(server.requests == 7)
    }

    /// The old keys count for a day if the issuer is unreachable.
    @Test func oldKeysCountForADay() async throws {
        let server = try IssuerServer(.keys(IssuerKey.set(key)))
        let stage = try IssuerStage(server)
        #expect(await stage.outcome(key.token()) == "idp:ann")
        server.answer(.response("503 Service Unavailable", ""))
        stage.advance(KeySetState.maximumAge - .nanoseconds(1))
        #expect(await stage.outcome(key.token()) == "idp:ann")
        // A token of another key may be of a new one, which cannot be read.
        #expect(await stage.outcome(IssuerKey("k2").token()) == "issuer_unavailable")
        #expect(await stage.outcome(key.token()) == "idp:ann")
        #expect(server.requests == 2)
        stage.advance(.nanoseconds(1))
        #expect(await stage.outcome(key.token()) == "issuer_unavailable")
        #expect(server.requests == 2)
    }

    @Test func setWithoutUsableKeysIsReported() async throws {
        let server = try IssuerServer(.keys(#"{"keys":[{"kty":"oct","k":"AAAA"}]}"#))
        let stage = try IssuerStage(server)
        #expect(await stage.outcome(key.token()) == "unauthorized")
        #expect(stage.log.count == 1 && stage.log.first?.contains("issuer without usable keys") == true)
    }

    @Test func logShowsNoToken() async throws {
        let server = try IssuerServer(.keys("no"))
        let stage = try IssuerStage(server)
        let token = key.token()
        _ = await stage.outcome(token)
        #expect(!stage.log.isEmpty)
        for part in token.split(separator: ".") {
            #expect(!stage.log.joined().contains(part))
        }
    }

    // MARK: - Files

    @Test func keysOfAFileAreReadAgainAfterAReload() async throws {
        let new = IssuerKey("k2")
        let server = try IssuerServer(.none)
        let path = server.files.certificate("second")
        let stage = try IssuerStage(keys: #""jwks_file":"\#(path)""#, on: server.shard)
        // No token has needed the keys.
        stage.verifier.reload()
        #expect(await stage.outcome(key.token()) == "issuer_unavailable")
        #expect(stage.log.count == 1)
        try server.files.overwrite(path, with: IssuerKey.set(key))
        stage.advance(.seconds(1))
        #expect(await stage.outcome(key.token()) == "idp:ann")
        try server.files.overwrite(path, with: IssuerKey.set(new))
        #expect(await stage.outcome(new.token()) == "unauthorized")
        stage.verifier.reload()
        await stage.settle()
        #expect(await stage.outcome(new.token()) == "idp:ann")
        #expect(await stage.outcome(key.token()) == "unauthorized")
    }

    @Test func missingFileMakesTheIssuerUnavailable() async throws {
        let server = try IssuerServer(.none)
        let stage = try IssuerStage(keys: #""jwks_file":"/nowhere/jwks.json""#, on: server.shard)
        #expect(await stage.outcome(key.token()) == "issuer_unavailable")
        #expect(stage.log.first?.contains("/nowhere/jwks.json cannot be read: No such file") == true)
    }
}
