import ChatterdBasics
import ChatterdCryptography
import ChatterdIdentity
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// The times at which keys of issuers are read.
@Suite final class KeySetStateTests {
    private static let key = IssuerKey("k1")
    private static let problem = KeySetProblem(message: "no")
    private var state = KeySetState()
    private var now = Instant(nanoseconds: 1)

    /// The action of a token's request, in words.
    private func step(_ key: IssuerKey = key, hasWaited: Bool = false) throws -> String {
        switch state.step(for: try JSONWebToken(parsing: key.token()), at: now, hasWaited: hasWaited) {
        case .found(_, starts: false): "found"
        case .found(_, starts: true): "found, starts"
        case .wait(starts: false): "waits"
        case .wait(starts: true): "waits, starts"
        case .unknown: "unknown"
        case .unavailable(let delay): "unavailable for \(delay.components.seconds) s"
        }
    }

    /// Ends the read with a set of one key, or with a problem. Returns whether another read follows.
    private func end(_ keys: IssuerKey? = key) throws -> Bool {
        guard let keys else { return state.end(.failure(Self.problem), at: now) }
        let set = try JSONWebKeySet(parsing: Array(IssuerKey.set(keys).utf8))
        return state.end(.success(VerificationKeySet(set)), at: now)
    }

    private func reload() -> Bool { state.reload(at: now) }

    @Test func oneReadServesAll() throws {
        #expect(try step() == "waits, starts")
        #expect(try step() == "waits")
        #expect(try step(IssuerKey("k2")) == "waits")
        #expect(try !end())
        #expect(try step(hasWaited: true) == "found")
        #expect(try step(IssuerKey("k2"), hasWaited: true) == "unknown")
        #expect(try step(IssuerKey("k2")) == "unknown")
    }

    @Test func oldKeysAreReadOnceBehindTheRequest() throws {
        _ = try step()
        _ = try end()
        now = now + (KeySetState.refreshAge - .nanoseconds(1))
        #expect(try step() == "found")
        now = now + .nanoseconds(1)
        #expect(try step() == "found, starts")
        #expect(try step() == "found")
        _ = try end(nil)
        #expect(try step() == "found")
        now = now + .seconds(1)
        #expect(try step() == "found, starts")
    }

    /// Tokens of unknown keys and an issuer that fails do not make chatterd read fresh keys more often.
    @Test func failedReadForAnUnknownKeyLeavesFreshKeysFresh() throws {
        _ = try step()
        _ = try end()
        now = now + KeySetState.unknownKeyInterval
        #expect(try step(IssuerKey("k2")) == "waits, starts")
        _ = try end(nil)
        #expect(try step(IssuerKey("k2"), hasWaited: true) == "unavailable for 30 s")
        now = now + .seconds(29)
        #expect(try step() == "found")
        #expect(try step(IssuerKey("k2")) == "unavailable for 1 s")
        now = now + .seconds(1)
        #expect(try step(IssuerKey("k2")) == "waits, starts")
        #expect(try !end())
        #expect(try step(IssuerKey("k2"), hasWaited: true) == "unknown")
    }

    @Test func keysOfADayDoNotCount() throws {
        _ = try step()
        _ = try end()
        now = now + KeySetState.maximumAge
        #expect(try step() == "waits, starts")
        _ = try end(nil)
        #expect(try step(hasWaited: true) == "unavailable for 1 s")
        #expect(try step() == "unavailable for 1 s")
    }

    @Test func reloadDuringAReadReadsAgain() throws {
        #expect(!reload())
        #expect(try step() == "waits, starts")
        #expect(!reload())
        #expect(try end())
        #expect(try step(IssuerKey("k2")) == "waits")
        #expect(try !end(IssuerKey("k2")))
        #expect(reload())
        #expect(!reload())
        #expect(try end())
    }

    @Test func successEndsTheBackoff() throws {
        _ = try step()
        _ = try end(nil)
        now = now + .seconds(1)
        _ = try step()
        _ = try end(nil)
        #expect(try step() == "unavailable for 2 s")
        now = now + .seconds(2)
        _ = try step()
        _ = try end()
        now = now + KeySetState.maximumAge
        _ = try step()
        _ = try end(nil)
        #expect(try step() == "unavailable for 1 s")
    }

    /// The name of a key alone does not choose it (RFC 7515, appendix A.3, has the point).
    @Test func keyOfAnotherAlgorithmIsUnknown() throws {
        let other =
            #"{"kty":"EC","crv":"P-256","kid":"k1","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","#
            + #""y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#
        let token = try JSONWebToken(parsing: Self.key.token())
        let keys = try VerificationKeySet(JSONWebKeySet(parsing: Array("{\"keys\":[\(other)]}".utf8)))
        #expect(keys.ids.count == 1 && keys.ignoredKeys == 0 && keys.key(for: token) == nil)
        let both = IssuerKey.set(Self.key).replacing("[", with: "[\(other),")
        let found = try VerificationKeySet(JSONWebKeySet(parsing: Array(both.utf8))).key(for: token)
        #expect(found?.algorithm == .edDSA && found?.verify(token.signature, of: token.signingInput) == true)
    }

    @Test func keyThatOpenSSLRefusesIsLeftOut() throws {
        let text = #"{"keys":[{"kty":"RSA","kid":"k1","n":"AQAB","e":"AQAB"}]}"#
        let keys = try VerificationKeySet(JSONWebKeySet(parsing: Array(text.utf8)))
        #expect(keys.ids.isEmpty && keys.ignoredKeys == 1)
    }
}
