import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdIdentity
import ChatterdPostgres
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdServer
import ChatterdSockets
import Glibc

/// `chatterd keys`: makes, lists, revokes and replaces keys of apps in the database.
struct KeysCommand: Sendable {
    /// The name of this program's user in the audit log.
    private static let actor = "command line"

    private let configuration: Configuration
    private let request: KeysRequest
    private let output: @Sendable (String) -> Void

    init(_ configuration: Configuration, _ request: KeysRequest, output: @escaping @Sendable (String) -> Void) {
        self.configuration = configuration
        self.request = request
        self.output = output
    }

    /// Runs the request.
    ///
    /// - Throws: an error for the user.
    func run() async throws {
        var database = configuration.store.database
        let cluster = try database == .privateCluster ? Self.attachCluster() : nil
        defer { cluster?.stop() }
        if let cluster {
            database = .conninfo(ConfigurationSecret(cluster.connectionString))
        }
        let shard = try Shard(index: 0)
        var store = PostgresConfiguration(target: try ConnectionTarget(database))
        store.connectionTimeout = configuration.store.startTimeout
        store.timeLimit = configuration.store.startTimeout
        _ = try await Migrator(store.target).run(timeout: configuration.store.startTimeout)
        let result = await Task(executorPreference: shard) { () -> Result<Void, RelayError> in
            let pool = PostgresPool(store, on: shard)
            let result: Result<Void, RelayError>
            do throws(RelayError) {
                result = .success(try await perform(AppKeyStore(pool: pool)))
            } catch {
                result = .failure(error)
            }
            await pool.shutDown()
            return result
        }.value
        try result.get()
    }

    private static func attachCluster() throws -> DevelopmentCluster {
        guard let directory = getcwd(nil, 0) else { throw ServeFailure(description: "The current directory is gone.") }
        defer { free(directory) }
        return try DevelopmentCluster.attach(in: String(cString: directory)) { CommandRunner.write($0, to: 2) }
    }

    private func perform(_ store: AppKeyStore) async throws(RelayError) {
        switch request {
        case .create(var grant, let lifetime):
            grant.expiresAt = lifetime.map { Self.now + $0.components.seconds }
            let made = try await store.create(grant, by: Self.actor)
            show(made.key, made.text)
        case .list(let app):
            let keys = try await store.list(app: app)
            output(KeyTable(keys, now: Self.now).text)
        case .revoke(let id):
            guard let key = try await store.revoke(id, by: Self.actor) else { throw Self.unknown(id) }
            output("revoked key \(key.id) of app \(key.grant.app); running servers refuse it within two seconds")
        case .rotate(let id, let overlap):
            guard let made = try await store.rotate(id, overlap: overlap, by: Self.actor, now: Self.now) else {
                throw Self.unknown(id)
            }
            output("key \(id) stays valid for at most \(SettingText.duration(overlap))")
            show(made.key, made.text)
        }
    }

    private func show(_ key: AppKey, _ text: AppKeyText) {
        output("made \(KeyTable.line(of: key, now: Self.now))")
        output("Keep the key: the server stores its digest only, and shows it once.")
        if key.grant.scopes.contains(.admin) {
            output("Model servers are managed at the address of the page, followed by \(AdministrationLink(text.text))")
        }
        output(text.text)
    }

    private static func unknown(_ id: String) -> RelayError {
        RelayError(
            .invalidRequest,
            "There is no valid key with the id \(SettingText.excerpt(id)). `chatterd keys list` shows the ids.")
    }

    private static var now: Int64 { Int64(time(nil)) }
}
