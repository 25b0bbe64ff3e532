import ChatterdBasics
import ChatterdConfiguration
import ChatterdJSONLog
import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdPostgres
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// The list of model servers, as it stands in the database: for all processes, and all shards of this one.
///
/// What this process's environment lists is written at its start. Then the table counts; the housekeeper has it looked at.
final class UpstreamRegistry: Sendable {
    /// Model servers that the API adds to, at most.
    static let limit = 1_000

    private struct State {
        var entries: [UpstreamEntry] = []
        /// The greatest revision and the number of rows that `entries` were made of.
        var seen: (revision: Int, count: Int)?
        /// The number of this process's last own change that `entries` show.
        var change = 0
        var isSeeded = false
        /// Whether the files that descriptions refer to are to be read again.
        var isStale = false
    }

    private let configuration: Configuration.Upstreams
    private let pool: PostgresPool
    private let apply: @Sendable ([PreparedUpstream], [UnusableUpstream]) -> Void
    private let log: Log
    private let state = Lock(State())

    /// Makes one that knows nothing yet.
    ///
    /// - Parameters:
    ///   - pool: of any shard.
    ///   - apply: gives all shards the servers that can be asked, and those that cannot, in the order of the calls; returns at
    ///     once.
    init(
        _ configuration: Configuration.Upstreams, pool: PostgresPool, log: Log,
        apply: @escaping @Sendable ([PreparedUpstream], [UnusableUpstream]) -> Void
    ) {
        self.configuration = configuration
        self.pool = pool
        self.log = log
        self.apply = apply
    }

    /// The model servers, in their order.
    var entries: [UpstreamEntry] { state.withLock(\.entries) }

    /// The model server of that name.
    func entry(_ name: String) -> UpstreamEntry? { entries.first { $0.name == name } }

    // MARK: - Reading

    /// Writes what the environment lists, and reads what there is. If the database is away, the environment counts until the
    /// next look.
    func start() async {
        do throws(PostgresError) {
            try await seed()
        } catch {
            log.event(.warning, "model servers not stored", .error("\(error)"))
            await take(configuration.list.filter { !Self.isBuiltIn($0) }.map(row), seen: nil)
        }
    }

    /// Looks whether the list has changed, and takes it if it has; on the housekeeper's round.
    func look() async throws(PostgresError) {
        let known = state.withLock { $0 }
        guard known.isSeeded else { return try await seed() }
        let found = try await pool.run(UpstreamStatements.revision).first
        // What could not be used may have become usable: a file is there by now.
        guard
            known.isStale || known.entries.contains(where: { $0.problem != nil })
                || (found?.revision, found?.count) != (known.seen?.revision, known.seen?.count)
        else { return }
        let rows = Self.rows(of: try await pool.run(UpstreamStatements.list))
        await take(rows.rows, seen: rows.seen, unlessChangedSince: known.change)
    }

    /// Has the files read again that descriptions refer to.
    func reload() async {
        state.withLock { $0.isStale = true }
        // If the database is away, the next look does it.
        try? await look()
    }

    private func seed() async throws(PostgresError) {
        let own = configuration.list.filter { !Self.isBuiltIn($0) }
        var transaction = Transaction()
        transaction.add(UpstreamStatements.lock)
        transaction.add(
            UpstreamStatements.seed(
                names: own.map(\.name),
                definitions: own.map { $0.document(defaults: configuration.defaults) }))
        let list = transaction.add(UpstreamStatements.list)
        let rows = Self.rows(of: try await pool.run(transaction)[list])
        for row in rows.rows where row.origin == .api && own.contains(where: { $0.name == row.name }) {
            log.event(.warning, "model server of the environment gives way to the API's", .upstream(row.name))
        }
        await take(rows.rows, seen: rows.seen)
        state.withLock { $0.isSeeded = true }
    }

    // MARK: - Changing

    /// Adds a model server; its document must have been read.
    ///
    /// - Throws: `upstreamExists`, `overloaded` when there are too many, what the store says.
    func add(_ name: String, _ document: [UInt8]) async throws(RelayError) {
        let query = UpstreamStatements.insert(name: name, definition: document, limit: Self.limit)
        guard try await change(query) else {
            throw entry(name) == nil
                ? RelayError(.invalidRequest, "There are \(Self.limit) model servers already.")
                : RelayError(.upstreamExists, "There is a model server of the name \(name) already.")
        }
    }

    /// Replaces the model server of that name.
    ///
    /// - Throws: `upstreamNotFound`, what the store says.
    func replace(_ name: String, _ document: [UInt8]) async throws(RelayError) {
        guard try await change(UpstreamStatements.replace(name: name, definition: document)) else {
            throw Self.notFound(name)
        }
    }

    /// Removes the model server of that name; answers that are being made go on.
    ///
    /// - Throws: `upstreamNotFound`, what the store says.
    func remove(_ name: String) async throws(RelayError) {
        guard try await change(UpstreamStatements.remove(name: name)) else { throw Self.notFound(name) }
    }

    /// The error of a name that no model server has.
    static func notFound(_ name: String) -> RelayError {
        RelayError(.upstreamNotFound, "There is no model server of the name \(SettingReader.excerpt(name)).")
    }

    /// Makes a change, and takes the list as it is then; says whether something was changed.
    private func change(_ query: Query<Int>) async throws(RelayError) -> Bool {
        let before = state.withLock(\.change)
        var transaction = Transaction()
        transaction.add(UpstreamStatements.lock)
        let change = transaction.add(query)
        let list = transaction.add(UpstreamStatements.list)
        let results = try await pool.runForRelay(transaction)
        let rows = Self.rows(of: results[list])
        let number = results[change].first
        await take(rows.rows, seen: rows.seen, unlessChangedSince: before, change: number)
        return number != nil
    }

    // MARK: - Taking

    /// A row of the table.
    private struct Row {
        let name: String
        let document: [UInt8]
        let origin: UpstreamEntry.Origin
        let revision: Int
    }

    private static func rows(
        of list: Rows<UpstreamStatements.Listed>
    ) -> (rows: [Row], seen: (revision: Int, count: Int)) {
        let rows = list.compactMap { listed in
            UpstreamEntry.Origin(rawValue: listed.origin).map {
                Row(name: listed.name, document: listed.definition, origin: $0, revision: listed.revision)
            }
        }
        return (rows, (rows.map(\.revision).max() ?? 0, rows.count))
    }

    private func row(_ description: UpstreamDescription) -> Row {
        Row(
            name: description.name, document: description.document(defaults: configuration.defaults),
            origin: .environment, revision: 0)
    }

    /// The model that is built in stays with this process, whatever the table says.
    private static func isBuiltIn(_ description: UpstreamDescription) -> Bool {
        description.kind == .echo && description.name == Configuration.Upstreams.echo.name
    }

    /// Takes a list, unless a change of this process that is newer has been taken meanwhile.
    ///
    /// - Parameters:
    ///   - change: the number of this process's own change that the list shows.
    private func take(
        _ rows: [Row], seen: (revision: Int, count: Int)?, unlessChangedSince before: Int = 0, change: Int? = nil
    ) async {
        let (old, isAnew) = state.withLock { ($0.entries, $0.isStale) }
        // Files are read: not on a shard.
        let fresh = await Task.detached { [self] in
            rows.map { row in
                let same = old.first { $0.name == row.name }
                if !isAnew, let same, same.revision == row.revision, same.problem == nil, same.document == row.document
                {
                    return same
                }
                return entry(of: row, replacing: same)
            }
        }.value
        let taken = state.withLock { state -> [UpstreamEntry]? in
            guard change.map({ $0 > state.change }) ?? (state.change <= before) else { return nil }
            state.change = change ?? state.change
            state.seen = seen
            state.isStale = state.isStale && !isAnew
            state.entries = fresh + builtIn(replacing: state.entries, names: Set(fresh.map(\.name)))
            let prepared = state.entries.compactMap(\.prepared)
            log.conceal(prepared.compactMap { $0.key?.value })
            apply(prepared, state.entries.compactMap(\.unusable))
            return state.entries
        }
        report(taken ?? [], unlikeIn: old)
    }

    /// Says what this process cannot use, once.
    private func report(_ entries: [UpstreamEntry], unlikeIn old: [UpstreamEntry]) {
        for entry in entries {
            guard let problem = entry.problem, old.first(where: { $0.name == entry.name })?.problem != problem else {
                continue
            }
            log.event(.warning, "model server left out", .upstream(entry.name), .detail(problem))
        }
    }

    private func entry(of row: Row, replacing old: UpstreamEntry?) -> UpstreamEntry {
        var reader: UpstreamReader?
        let outcome: Result<PreparedUpstream, UpstreamKeys.Problem>
        do throws(UpstreamKeys.Problem) {
            // Each process has a say in what may be named through the API.
            let source =
                row.origin == .api
                ? UpstreamReader.Source.request(keyDirectory: configuration.keys.directory) : .table
            let read = try UpstreamReader.row(row.document, source, defaults: configuration.defaults)
            reader = read
            outcome = .success(try prepare(read, of: row, replacing: old))
        } catch {
            outcome = .failure(error)
        }
        let description = reader?.description.flatMap { $0.name == row.name ? $0 : nil }
        return UpstreamEntry(
            name: row.name, document: row.document, origin: row.origin, revision: row.revision,
            kind: description?.kind, names: reader?.names ?? UpstreamNames(server: row.name),
            shown: description?.document(defaults: configuration.defaults), outcome: outcome)
    }

    private func prepare(
        _ reader: UpstreamReader, of row: Row, replacing old: UpstreamEntry?
    ) throws(UpstreamKeys.Problem) -> PreparedUpstream {
        guard let description = reader.description else {
            throw UpstreamKeys.Problem(message: reader.problems.joined(separator: "; "), reason: .description)
        }
        guard description.name == row.name else {
            throw UpstreamKeys.Problem(
                message: "its row and its description have different names", reason: .description)
        }
        // A new revision of an entry of the environment may only change its place in the list. A new revision of an entry of the
        // API is a new description.
        let isPut = row.origin == .api && row.revision != old?.revision
        return try PreparedUpstream(description, keys: configuration.keys, replacing: isPut ? nil : old?.prepared)
    }

    private func builtIn(replacing old: [UpstreamEntry], names: Set<String>) -> [UpstreamEntry] {
        configuration.list.filter { Self.isBuiltIn($0) && !names.contains($0.name) }.compactMap { description in
            let same = old.first { $0.name == description.name }
            // There is nothing that it refers to.
            guard
                let prepared = try? PreparedUpstream(
                    description, keys: configuration.keys, replacing: same?.prepared)
            else { return nil }
            let document = description.document(defaults: configuration.defaults)
            return UpstreamEntry(
                name: description.name, document: document, origin: .builtIn, revision: 0, kind: description.kind,
                names: UpstreamNames(description), shown: document, outcome: .success(prepared))
        }
    }
}
