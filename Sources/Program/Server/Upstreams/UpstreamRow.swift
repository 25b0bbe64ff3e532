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
    /// The rows of `UpstreamStatements.list`. A row with an unknown origin is left out.
    static func all(of list: Rows<UpstreamStatements.Listed>) -> [UpstreamRow] {
        list.compactMap { listed in
            Origin(rawValue: listed.origin).map {
                UpstreamRow(name: listed.name, document: listed.definition, origin: $0, revision: listed.revision)
            }
        }
    }
}
