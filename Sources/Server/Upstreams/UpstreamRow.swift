import ChatterdPostgres
import ChatterdPostgresStore

/// A row of the table of model servers.
struct UpstreamRow: Sendable {
    /// The origin of a model server.
    enum Origin: String, Sendable {
        /// The environment of a process.
        case environment
        /// A request.
        case api
        /// This process alone: the built-in model.
        case builtIn = "built-in"
    }

    let name: String
    /// The description in its JSON form.
    let document: [UInt8]
    let origin: Origin
    let revision: Int
}

extension UpstreamRow {
    /// The rows of a result of `UpstreamStatements.list`. A row with an unknown origin is left out.
    static func all(of result: QueryResult) -> [UpstreamRow] {
        (0..<result.rowCount).compactMap { row in
            guard let name = result.string(row, 0), let origin = result.string(row, 2).flatMap(Origin.init) else {
                return nil
            }
            return UpstreamRow(
                name: name, document: result.array(row, 1), origin: origin, revision: result.int(row, 3) ?? 0)
        }
    }
}
