import ChatterdBasics
import ChatterdChat
import ChatterdConfiguration
import ChatterdRelay

/// Turns rows of the table into entries of the list: reads descriptions, and finds the keys and files that they refer to.
struct UpstreamResolver: Sendable {
    let configuration: Configuration.Upstreams

    /// The descriptions of this process's environment, apart from the built-in model.
    var environment: [UpstreamDescription] { configuration.list.filter { !isBuiltIn($0) } }

    /// The rows that the environment would have in the table.
    var environmentRows: [UpstreamRow] {
        environment.map { description in
            UpstreamRow(name: description.name, document: document(description), origin: .environment, revision: 0)
        }
    }

    /// The JSON form of a description.
    func document(_ description: UpstreamDescription) -> [UInt8] {
        description.document(defaults: configuration.defaults)
    }

    /// The entries of rows. Reads files: call it off the shards.
    ///
    /// - Parameters:
    ///   - old: the entries before. An unchanged entry without a problem stays as it is.
    ///   - rereadsFiles: whether unchanged entries are resolved again too.
    func entries(
        of rows: [UpstreamRow], replacing old: [UpstreamEntry], rereadsFiles: Bool
    ) -> [UpstreamEntry] {
        rows.map { row in
            let same = old.first { $0.name == row.name }
            if !rereadsFiles, let same, same.problem == nil, same.row.revision == row.revision,
                same.row.document == row.document
            {
                return same
            }
            return entry(of: row, replacing: same)
        }
    }

    /// The entry of the built-in model, if the environment offers it and no row has its name.
    ///
    /// Only this process has it. The table does not contain it.
    func builtIn(replacing old: [UpstreamEntry], besides rows: [UpstreamEntry]) -> [UpstreamEntry] {
        configuration.list.filter { description in
            isBuiltIn(description) && !rows.contains { $0.name == description.name }
        }.compactMap { description in
            let same = old.first { $0.name == description.name }
            // Its description refers to no key and no file, so that this does not fail.
            guard
                let resolved = try? ResolvedUpstream(
                    description, keys: configuration.keys, replacing: same?.resolved)
            else { return nil }
            return UpstreamEntry(
                row: UpstreamRow(
                    name: description.name, document: document(description), origin: .builtIn, revision: 0),
                description: description, names: UpstreamNames(description), outcome: .success(resolved))
        }
    }

    private func isBuiltIn(_ description: UpstreamDescription) -> Bool {
        description.kind == .echo && description.name == Configuration.Upstreams.echo.name
    }

    private func entry(of row: UpstreamRow, replacing old: UpstreamEntry?) -> UpstreamEntry {
        var reader: UpstreamReader?
        let outcome: Result<ResolvedUpstream, UpstreamKeys.Problem>
        do throws(UpstreamKeys.Problem) {
            // Each process decides which keys and files a row of the API may name.
            let source =
                row.origin == .api
                ? UpstreamReader.Source.request(keyDirectory: configuration.keyDirectory) : .table
            let read = try UpstreamReader.row(row.document, source, defaults: configuration.defaults)
            reader = read
            outcome = .success(try resolve(read, of: row, replacing: old))
        } catch {
            outcome = .failure(error)
        }
        return UpstreamEntry(
            row: row, description: reader?.description.flatMap { $0.name == row.name ? $0 : nil },
            names: reader?.names ?? UpstreamNames(server: row.name), outcome: outcome)
    }

    private func resolve(
        _ reader: UpstreamReader, of row: UpstreamRow, replacing old: UpstreamEntry?
    ) throws(UpstreamKeys.Problem) -> ResolvedUpstream {
        guard let description = reader.description else {
            throw UpstreamKeys.Problem(message: reader.problems.joined(separator: "; "), reason: .description)
        }
        guard description.name == row.name else {
            throw UpstreamKeys.Problem(
                message: "its row and its description have different names", reason: .description)
        }
        // A new revision of an entry of the environment may only change its position in the list. A new revision of an entry of
        // the API is a new description.
        let isPut = row.origin == .api && row.revision != old?.row.revision
        return try ResolvedUpstream(description, keys: configuration.keys, replacing: isPut ? nil : old?.resolved)
    }
}
