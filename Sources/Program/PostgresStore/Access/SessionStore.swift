import ChatterdBasics
import ChatterdCryptography
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The sessions of browsers in the database.
public struct SessionStore: Sendable {
    /// The number of sessions that one credential, or one person, can have. The oldest ends first.
    public static let limit = 100
    /// The longest lifetime of a session, in seconds: 30 days.
    public static let longestLifetime = 2_592_000
    /// How long the revocation of a session outlives it: the streams of the session have ended then everywhere.
    public static let revocationGrace = Duration.seconds(300)
    /// The number of random bytes of a cookie.
    private static let secretSize = 32

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Makes a session.
    ///
    /// - Returns: the value of its cookie, which is stored nowhere.
    /// - Throws: `storeUnavailable`.
    public func create(
        _ credential: StoredCredential, of principal: Principal, expiresAt: Int64
    ) async throws(RelayError) -> String {
        let text = Base64URL.encode(SecureRandom.bytes(Self.secretSize))
        _ = try await pool.runForRelay(
            SessionStatements.insert(
                Self.hash(text), credential, of: principal, expiresAt: expiresAt, limit: Self.limit))
        return text
    }

    /// The session of a cookie; `nil` for an unknown or expired one.
    public func find(_ text: String) async throws(RelayError) -> StoredSession? {
        try await pool.runForRelay(SessionStatements.find(Self.hash(text))).first
    }

    /// Ends a session, if there is one. All processes refuse its cookie within two seconds, and end its streams. Another text changes
    /// nothing, and takes no lock: anybody can send one.
    public func end(_ text: String) async throws(RelayError) {
        guard try await find(text) != nil else { return }
        var transaction = Transaction()
        transaction.add(AccessStatements.lock)
        transaction.add(SessionStatements.remove(Self.hash(text), Revocation(session: Self.id(of: text))))
        _ = try await pool.runForRelay(transaction)
    }

    /// The id of the session of a cookie, which is no secret.
    public static func id(of text: String) -> String {
        Base64URL.encode(hash(text))
    }

    /// The cookie has 256 random bits, so a plain digest is enough.
    private static func hash(_ text: String) -> [UInt8] { SHA256Digest(of: Array(text.utf8).span).bytes }
}
