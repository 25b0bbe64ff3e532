import ChatterdBasics
import ChatterdConfiguration
import ChatterdPostgres
import ChatterdPostgresStore

/// How the list of model servers in the database differs from that of an environment.
public enum UpstreamListDifference {
    /// The names of the model servers that only one of them has, or that they describe differently. Those of the API count in no list.
    public static func names(
        _ configuration: Configuration.Upstreams, in list: Rows<UpstreamStatements.Listed>
    ) -> [String] {
        let all = UpstreamRow.all(of: list)
        let stored = all.filter { $0.origin == .environment }
        let own = UpstreamResolver(configuration: configuration).environmentRows.filter { row in
            !all.contains { $0.origin == .api && $0.name == row.name }
        }
        let changed = own.filter { row in !stored.contains { $0.name == row.name && $0.document == row.document } }
        let gone = stored.filter { row in !own.contains { $0.name == row.name } }
        return (changed + gone).map(\.name)
    }
}
