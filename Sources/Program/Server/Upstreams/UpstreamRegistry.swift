import ChatterdBasics
import ChatterdChat
import ChatterdConfiguration
import ChatterdJSONLog
import ChatterdPostgres
import ChatterdPostgresStore
import ChatterdRelay

/// The list of model servers as the database has it, for all shards of this process.
///
/// At its start the process writes the list of its environment into the table. From then on the table decides; the housekeeper calls
/// `refresh` on each round.
final class UpstreamRegistry: Sendable {
    /// The maximum number of model servers that the API adds to.
    static let limit = 1_000

    /// The greatest revision and the number of rows of the table.
    private struct TableVersion: Equatable {
        let revision: Int?
        let count: Int?

        init(_ rows: [UpstreamRow]) {
            revision = rows.map(\.revision).max() ?? 0
            count = rows.count
        }

        /// The version that `UpstreamStatements.revision` has found.
        init(_ found: (revision: Int, count: Int)?) {
            revision = found?.revision
            count = found?.count
        }
    }

    private struct State {
        var entries: [UpstreamEntry] = []
        /// The version of the table that `entries` show; `nil` before the table was read.
        var version: TableVersion?
        /// The number of this process's last own change that `entries` show.
        var change = 0
        var isSeeded = false
        /// Whether the next refresh reads again the files that descriptions refer to.
        var needsFiles = false
    }

    private let resolver: UpstreamResolver
    private let pool: PostgresPool
    private let apply: @Sendable ([ResolvedUpstream], [UnusableUpstream]) -> Void
    private let log: Log
    private let state = Lock(State())

    /// Makes an empty registry.
    ///
    /// - Parameters:
    ///   - pool: a pool of any shard.
    ///   - apply: sends the servers that can be asked, and those that cannot, to all shards, in the order of the calls; returns at
    ///     once.
    init(
        _ configuration: Configuration.Upstreams, pool: PostgresPool, log: Log,
        apply: @escaping @Sendable ([ResolvedUpstream], [UnusableUpstream]) -> Void
    ) {
        resolver = UpstreamResolver(configuration: configuration)
        self.pool = pool
        self.log = log
        self.apply = apply
    }

    /// The model servers, in the order of the list.
    var entries: [UpstreamEntry] { state.withLock(\.entries) }

    /// The model server with that name.
    func entry(_ name: String) -> UpstreamEntry? { entries.first { $0.name == name } }

    // MARK: - Reading

    /// Writes the list of the environment into the table, and reads the table. If the database is unavailable, the list of the
    /// environment holds until the next refresh.
    func start() async {
        do throws(PostgresError) {
            try await seed()
        } catch {
            log.event(.warning, "model servers not stored", .error("\(error)"))
            await update(to: resolver.environmentRows, version: nil)
        }
    }

    /// Reads the table if it has changed. An entry with a problem is resolved again each time, because its file may exist now.
    func refresh() async throws(PostgresError) {
        let known = state.withLock { $0 }
        guard known.isSeeded else { return try await seed() }
        let version = TableVersion(try await pool.run(UpstreamStatements.revision).first)
        guard known.needsFiles || version != known.version || known.entries.contains(where: { $0.problem != nil })
        else { return }
        let rows = UpstreamRow.all(of: try await pool.run(UpstreamStatements.list))
        await update(to: rows, version: TableVersion(rows), unlessChangedSince: known.change)
    }

    /// Reads again the files that descriptions refer to.
    func reload() async {
        state.withLock { $0.needsFiles = true }
        // If the database is unavailable, the next refresh does it.
        try? await refresh()
    }

    private func seed() async throws(PostgresError) {
        let own = resolver.environment
        var transaction = Transaction()
        transaction.add(UpstreamStatements.lock)
        transaction.add(
            UpstreamStatements.seed(names: own.map(\.name), definitions: own.map(resolver.document)))
        let list = transaction.add(UpstreamStatements.list)
        let rows = UpstreamRow.all(of: try await pool.run(transaction)[list])
        for row in rows where row.origin == .api && own.contains(where: { $0.name == row.name }) {
            log.event(.warning, "model server of the environment gives way to the API's", .upstream(row.name))
        }
        await update(to: rows, version: TableVersion(rows))
        state.withLock { $0.isSeeded = true }
    }

    // MARK: - Changing

    /// Adds a model server; its document must have been checked.
    ///
    /// - Throws: `upstreamExists`; `invalidRequest` if the list is full; errors of the store.
    func add(_ name: String, _ document: [UInt8], by actor: String) async throws(RelayError) {
        let query = UpstreamStatements.insert(
            name: name, definition: document, limit: Self.limit, by: actor)
        guard try await change(query) else {
            throw entry(name) == nil
                ? RelayError(.invalidRequest, "There are \(Self.limit) model servers already.")
                : RelayError(.upstreamExists, "There is a model server of the name \(name) already.")
        }
    }

    /// Replaces the model server with that name.
    ///
    /// - Throws: `upstreamNotFound`; errors of the store.
    func replace(_ name: String, _ document: [UInt8], by actor: String) async throws(RelayError) {
        guard try await change(UpstreamStatements.replace(name: name, definition: document, by: actor)) else {
            throw Self.notFound(name)
        }
    }

    /// Removes the model server with that name. Its running answers continue.
    ///
    /// - Throws: `upstreamNotFound`; errors of the store.
    func remove(_ name: String, by actor: String) async throws(RelayError) {
        guard try await change(UpstreamStatements.remove(name: name, by: actor)) else { throw Self.notFound(name) }
    }

    /// The error for a name that no model server has.
    static func notFound(_ name: String) -> RelayError {
        RelayError(.upstreamNotFound, "There is no model server named \(SettingText.excerpt(name)).")
    }

    /// Makes a change and reads the table in the same transaction. Returns whether a row changed.
    private func change(_ query: Query<Int>) async throws(RelayError) -> Bool {
        let before = state.withLock(\.change)
        var transaction = Transaction()
        transaction.add(UpstreamStatements.lock)
        let change = transaction.add(query)
        let list = transaction.add(UpstreamStatements.list)
        let results = try await pool.runForRelay(transaction)
        let rows = UpstreamRow.all(of: results[list])
        let number = results[change].first
        await update(to: rows, version: TableVersion(rows), unlessChangedSince: before, change: number)
        return number != nil
    }

    // MARK: - Updating

    /// Replaces the list, unless a newer change of this process came first.
    ///
    /// - Parameters:
    ///   - before: the last own change before the rows were read.
    ///   - change: the number of the own change that the rows show; `nil` for none.
    private func update(
        to rows: [UpstreamRow], version: TableVersion?, unlessChangedSince before: Int = 0, change: Int? = nil
    ) async {
        let (old, rereadsFiles) = state.withLock { ($0.entries, $0.needsFiles) }
        // A task of its own, because it reads files, which must not block a shard.
        let fresh = await Task.detached { [resolver] in
            resolver.entries(of: rows, replacing: old, rereadsFiles: rereadsFiles)
        }.value
        let entries = state.withLock { state -> [UpstreamEntry] in
            guard change.map({ $0 > state.change }) ?? (state.change <= before) else { return [] }
            state.change = change ?? state.change
            state.version = version
            state.needsFiles = state.needsFiles && !rereadsFiles
            state.entries = fresh + resolver.builtIn(replacing: state.entries, besides: fresh)
            let resolved = state.entries.compactMap(\.resolved)
            log.conceal(resolved.compactMap { $0.key?.value })
            apply(resolved, state.entries.compactMap(\.unusable))
            return state.entries
        }
        // The first list is that of the start.
        if !old.isEmpty, !entries.isEmpty {
            logChanges(from: old, to: entries)
        }
        logProblems(of: entries, unlessIn: old)
    }

    /// Logs the model servers that were added, removed or changed, also by another process.
    private func logChanges(from old: [UpstreamEntry], to new: [UpstreamEntry]) {
        let oldRows = Dictionary(old.map { (ExactText($0.name), $0.row) }) { first, _ in first }
        let newNames = Set(new.map { ExactText($0.name) })
        for entry in new {
            guard let row = oldRows[entry.name] else {
                log.event(.info, "model server added", .upstream(entry.name))
                continue
            }
            if row.document != entry.row.document {
                log.event(.info, "model server changed", .upstream(entry.name))
            }
        }
        for entry in old where !newNames.contains(ExactText(entry.name)) {
            log.event(.info, "model server removed", .upstream(entry.name))
        }
    }

    /// Logs each problem once.
    private func logProblems(of entries: [UpstreamEntry], unlessIn old: [UpstreamEntry]) {
        for entry in entries {
            guard let problem = entry.problem, old.first(where: { $0.name == entry.name })?.problem != problem else {
                continue
            }
            log.event(.warning, "model server left out", .upstream(entry.name), .detail(problem))
        }
    }
}
