import ChatterdHTTP
import ChatterdHooks
import ChatterdTools

extension Configuration {
    /// The texts that no log line may show: keys, and the database's conninfo with the password in it.
    public var secrets: [String] {
        // A key that cannot be found has no text that could be shown.
        var secrets = upstreams.list.compactMap { (try? upstreams.keys.key(of: $0))?.value }
        if let token = upstreams.adminToken {
            secrets.append(token.value)
        }
        if case .conninfo(let secret) = store.database {
            secrets.append(secret.value)
            secrets += Conninfo.passwords(in: secret.value)
        }
        return secrets + fieldSecrets
    }

    /// The values of the operator's header fields and variables for servers of tools, hooks and the collector, which these may quote. A value
    /// of several words, such as `Bearer …`, counts by its words too.
    private var fieldSecrets: [String] {
        var values = hooks.list.flatMap { $0.fields.map(\.value) }
        values += tracing.endpoint?.fields.map(\.value) ?? []
        for case .http(let action) in tools.list.map(\.action) { values += action.fields.map(\.value) }
        for server in tools.servers {
            switch server.transport {
            case .http(let transport): values += transport.fields.map(\.value)
            case .program(let program):
                // Paths are no secrets, and tell the operator what a program lacks.
                values += program.variables.compactMap { $0.split(separator: "=", maxSplits: 1).last.map(String.init) }
                    .filter { !$0.utf8.starts(with: "/".utf8) }
            }
        }
        // A short text is a part of many words.
        return (values + values.flatMap { $0.split(separator: " ").map(String.init) }).filter { $0.utf8.count >= 8 }
    }
}
