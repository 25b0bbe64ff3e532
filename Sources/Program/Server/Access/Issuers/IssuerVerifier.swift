import ChatterdBasics
import ChatterdConfiguration
import ChatterdCryptography
import ChatterdIdentity
import ChatterdJSONLog
import ChatterdRelay
import ChatterdSockets

/// Checks the tokens of external issuers, for all shards of the process.
final class IssuerVerifier: Sendable {
    private struct Entry {
        let issuer: ExternalIssuer
        let keys: KeySetCache
    }

    /// The entries of each issuer, by its name.
    private let entries: [ExactText: [Entry]]
    private let caches: [KeySetCache]

    /// Makes a verifier that has no keys yet.
    ///
    /// - Parameter shard: the one that fetches keys.
    convenience init(_ issuers: [ExternalIssuer], on shard: Shard, log: Log) {
        self.init(issuers, log: log, now: Shard.readClock) { source in await source.read(on: shard) }
    }

    /// Makes a verifier with a clock and a way to read keys.
    init(
        _ issuers: [ExternalIssuer], log: Log, now: @escaping @Sendable () -> Instant,
        read: @escaping @Sendable (KeySetSource) async -> Result<VerificationKeySet, KeySetProblem>
    ) {
        var caches: [KeySetSource: KeySetCache] = [:]
        var entries: [ExactText: [Entry]] = [:]
        for issuer in issuers {
            let source = KeySetSource(of: issuer)
            let cache =
                caches[source] ?? KeySetCache(issuer: issuer.issuer, log: log, now: now) { await read(source) }
            caches[source] = cache
            entries[ExactText(issuer.issuer), default: []].append(Entry(issuer: issuer, keys: cache))
        }
        self.caches = Array(caches.values)
        self.entries = entries
    }

    /// The principal of a token.
    ///
    /// The claims are checked before the signature, so that only tokens that could be valid make chatterd read keys. The caller may
    /// keep the principal for `KeySetState.refreshAge`, but not beyond `expiresAt`: the issuer may have removed the key.
    ///
    /// - Parameter now: the time of day, in seconds since 1970.
    /// - Returns: `nil` if the text is not a token, or claims an issuer that is not configured.
    /// - Throws: `unauthorized` for a token of a configured issuer that is not valid; `issuerUnavailable` if its keys cannot be read.
    func principal(of text: String, now: Int64) async throws(RelayError) -> Principal? {
        guard !entries.isEmpty, let name = JSONWebToken.claimedIssuer(of: text), let entries = entries[ExactText(name)]
        else { return nil }
        let token = try Self.refusing { () throws(TokenError) in try JSONWebToken(parsing: text) }
        let entry = try Self.entry(for: token, in: entries)
        let owner = try Self.refusing { () throws(TokenError) in try entry.issuer.owner(of: token, at: now) }
        let key = try await entry.keys.key(for: token)
        try Self.refusing { () throws(TokenError) in
            guard let key else { throw .unknownKey }
            guard key.verify(token.signature, of: token.signingInput) else { throw .wrongSignature }
        }
        var principal = Principal(
            owner: owner, scopes: [.chat, .read],
            credential: .issuer(entry.issuer.issuer, issuedAt: token.claims.issuedAt ?? 0))
        principal.allowance = entry.issuer.allowance
        principal.expiresAt = token.claims.expiresAt
        return principal
    }

    /// Reads the keys again that were needed before.
    func reload() {
        for cache in caches {
            cache.reload()
        }
    }

    /// The entry of the token's audience.
    private static func entry(for token: JSONWebToken, in entries: [Entry]) throws(RelayError) -> Entry {
        let audiences = Set(token.claims.audiences.map(ExactText.init))
        let matching = entries.filter { audiences.contains(ExactText($0.issuer.audience)) }
        guard let entry = matching.first else { throw refusal(TokenError.wrongAudience.message) }
        guard matching.allSatisfy({ $0.issuer.namesPersonsLike(entry.issuer) }) else {
            throw refusal("The token is made for several apps of this server (aud). Get one for a single app.")
        }
        return entry
    }

    private static func refusing<Value>(_ body: () throws(TokenError) -> Value) throws(RelayError) -> Value {
        do throws(TokenError) {
            return try body()
        } catch {
            throw refusal(error.message)
        }
    }

    private static func refusal(_ message: String) -> RelayError { RelayError(AccessError(.unauthorized, message)) }
}

extension ExternalIssuer {
    /// Whether a `sub` stands for the same person of the same app in both entries.
    fileprivate func namesPersonsLike(_ other: ExternalIssuer) -> Bool {
        ExactText(app) == ExactText(other.app) && ExactText(personPrefix) == ExactText(other.personPrefix)
    }

    /// The person of a token whose signature is verified elsewhere.
    fileprivate func owner(of token: JSONWebToken, at now: Int64) throws(TokenError) -> Owner {
        let requirements = TokenRequirements(
            issuer: issuer, audience: audience, algorithms: algorithms, needsPerson: true)
        guard let person = try requirements.check(token, at: now) else { throw .missingPerson }
        guard let owner = Owner(validating: app, person: personPrefix + person) else { throw .invalidName }
        return owner
    }
}
