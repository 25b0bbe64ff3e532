import ChatterdBasics
import ChatterdConfiguration
import ChatterdIdentity
import ChatterdRelay
import ChatterdSockets
import ChatterdTestSupport

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// A verifier whose clock the test moves, with the issuer `https://accounts.example` of the app `shop`.
final class IssuerStage: Sendable {
    /// The time of day of all checks.
    static let now: Int64 = 1_999_999_500

    let verifier: IssuerVerifier
    private let clock = Monitor(Instant(nanoseconds: 1))
    private let output: LogFile

    /// Makes a verifier.
    ///
    /// - Parameters:
    ///   - keys: the members of the entry that name the keys, in JSON.
    ///   - more: further entries in JSON.
    ///   - limit: the time limit of a fetch.
    init(keys: String, more: [String] = [], on shard: Shard, within limit: Duration = .seconds(600)) throws {
        let entry =
            #"{"app":"shop","issuer":"https://accounts.example","audience":"shop-client","person_prefix":"idp:",\#(keys)}"#
        let list = IssuerList("{\"issuers\":[\(([entry] + more).joined(separator: ","))]}")
        guard list.problems.isEmpty else { throw TestFailure("\(list.problems)") }
        output = try LogFile()
        verifier = IssuerVerifier(list.issuers, log: output.log, now: { [clock] in clock.withLock { $0 } }) { source in
            await source.read(on: shard, within: limit)
        }
    }

    /// Makes a verifier that trusts the server's authority.
    convenience init(_ server: IssuerServer, more: [String] = [], within limit: Duration = .seconds(600)) throws {
        try self.init(
            keys: #""jwks_url":"https://localhost:\#(server.port)/jwks","ca_file":"\#(server.files.authority)""#,
            more: more, on: server.shard, within: limit)
    }

    /// The messages of the log so far, each with its line.
    var log: [String] { output.lines }

    func advance(_ duration: Duration) {
        clock.withLock { $0 = $0 + duration }
    }

    /// The person of a token, or the code of the error; `nil` if the token is of no configured issuer.
    func outcome(_ token: String) async -> String? {
        do throws(RelayError) {
            return try await verifier.principal(of: token, now: Self.now).map { $0.owner?.person ?? "" }
        } catch {
            return error.code.rawValue
        }
    }

    /// Waits for the read that is under way: a token of an unknown key needs its result.
    func settle() async {
        _ = await outcome(IssuerKey("nobody").token())
    }
}
