import ChatterdBasics
import ChatterdHTTP
import Testing

@testable import ChatterClient

/// Tokens that are renewed.
@Suite(.timeLimit(.minutes(30))) struct TokenSourceTests {
    /// A server of an app: it numbers its tokens, and may be away.
    private final class Issuer: Sendable {
        let count = Lock(0)
        let time = Lock(ContinuousClock.now)
        let failure = Lock<(any Error)?>(nil)

        func source(margin: Duration = .seconds(60), expiresIn: Int = 900) -> TokenSource {
            TokenSource(margin: margin, now: { self.time.withLock { $0 } }) {
                if let failure = self.failure.withLock({ $0 }) { throw failure }
                let number = self.count.withLock {
                    $0 += 1
                    return $0
                }
                return ClientToken(text: "t\(number)", expiresIn: expiresIn)
            }
        }

        func advance(_ seconds: Int) {
            time.withLock { $0 = $0.advanced(by: .seconds(seconds)) }
        }
    }

    private struct Away: Error {}

    @Test func tokenIsKeptUntilShortlyBeforeItsEnd() async throws {
        let issuer = Issuer()
        let source = issuer.source()
        #expect(try await source.token() == "t1")
        issuer.advance(839)
        #expect(try await source.token() == "t1")
        issuer.advance(1)
        #expect(try await source.token() == "t2")
    }

    @Test func shortTokenIsRenewedAfterHalfItsLifetime() async throws {
        let issuer = Issuer()
        let source = issuer.source(expiresIn: 10)
        _ = try await source.token()
        issuer.advance(4)
        #expect(try await source.token() == "t1")
        issuer.advance(1)
        #expect(try await source.token() == "t2")
    }

    @Test func requestsAtTheSameTimeShareAFetch() async throws {
        let issuer = Issuer()
        let source = issuer.source()
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<20 {
                group.addTask { try await source.token() }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(tokens == ["t1"] && issuer.count.withLock { $0 } == 1)
    }

    @Test func tokenServesToItsEndWhileTheIssuerIsAway() async throws {
        let issuer = Issuer()
        let source = issuer.source()
        _ = try await source.token()
        issuer.failure.withLock { $0 = Away() }
        issuer.advance(899)
        #expect(try await source.token() == "t1")
        issuer.advance(1)
        let error = await #expect(throws: ChatterError.self) { try await source.token() }
        #expect(error?.code == "unreachable")
        issuer.failure.withLock { $0 = ChatterError.cancelled }
        await #expect(throws: ChatterError.cancelled) { try await source.token() }
    }

    @Test func refusedTokenIsReplacedOnce() async throws {
        let refusal = #"{"error":"Revoked.","code":"unauthorized"}"#
        let page = #"{"conversations":[],"next":"c"}"#
        let server = ScriptedServer(
            .response(401, [refusal], isLost: false), .response(200, [page], isLost: false),
            .response(401, [refusal], isLost: false), .response(401, [refusal], isLost: false))
        let client = server.client(.tokens(Issuer().source()))
        #expect(try await client.conversations().next == "c")
        let error = await #expect(throws: ChatterError.self) { try await client.conversations() }
        #expect(error?.code == "unauthorized")
        #expect(
            server.requests.map { $0.fields[.authorization] } == ["Bearer t1", "Bearer t2", "Bearer t2", "Bearer t3"])
    }

    @Test func refusalOfAPermissionIsNoReasonForANewToken() async {
        let server = ScriptedServer(.response(403, [#"{"error":"No.","code":"forbidden"}"#], isLost: false))
        let error = await #expect(throws: ChatterError.self) {
            try await server.client(.tokens(Issuer().source())).conversations()
        }
        #expect(error?.code == "forbidden" && server.requests.count == 1)
    }
}
