import ChatterClient
import FoundationEssentials

/// The commands `servers` and `keys`.
struct AdministrationCommands {
    let client: ChatterClient
    let console: Console

    func run(_ action: TerminalCommand.ServersAction, json: Bool) async throws(ChatterError) -> ExitCode {
        switch action {
        case .list where json: try await writeServers()
        case .list: try await ModelServersTable(client, console).show()
        case .test(let name, let model):
            let test = try await client.testModelServer(name, model: model)
            guard test.ok else {
                console.report(test.problem ?? "the model server failed")
                return .modelFailed
            }
            console.write(
                foreign: "ok: \(test.models.count) models; \(test.model ?? "?") answered \"\(test.reply ?? "")\"\n")
        case .add(let name, let kind, let url):
            try await client.addModelServer(["name": .string(name), "kind": .string(kind), "url": .string(url)])
        case .remove(let name): try await client.removeModelServer(name)
        }
        return .done
    }

    private func writeServers() async throws(ChatterError) {
        let list = try await client.models()
        for server in list.upstreams {
            var members: [String: JSONValue] = ["name": .string(server.name)]
            members["kind"] = server.kind.map { .string($0) }
            members["reachable"] = server.reachable.map { .bool($0) }
            members["health"] = server.health.map { .string($0) }
            members["problem"] = server.problem.map { .string($0) }
            members["models"] = .array(
                list.models.filter { $0.upstreams.contains(server.name) }.map { .string($0.name) })
            console.write(json: JSONValue.object(members).text + "\n")
        }
    }

    func run(_ action: TerminalCommand.KeysAction, json: Bool) async throws(ChatterError) -> ExitCode {
        switch action {
        case .list(let app):
            let keys = try await client.keys(of: app)
            if json {
                for key in keys {
                    console.write(json: key.json.text + "\n")
                }
                return .done
            }
            var table = Table()
            table.add("ID", "APP", "SCOPES", "MADE", "STATE", "LABEL")
            for key in keys {
                let state =
                    key.revokedAt.map { "revoked \($0.localText)" } ?? key.expiresAt.map { "until \($0.localText)" }
                    ?? "valid"
                table.add(key.id, key.app, key.scopes.joined(separator: ","), key.createdAt.localText, state, key.label)
            }
            for line in table.lines {
                console.write(foreign: line + "\n")
            }
        case .create(let properties): show(try await client.createKey(properties), json)
        case .revoke(let id): try await client.revokeKey(id)
        case .rotate(let id, let overlap): show(try await client.rotateKey(id, overlap: overlap), json)
        }
        return .done
    }

    private func show(_ key: AppKey, _ json: Bool) {
        guard !json else {
            console.write(json: key.json.text + "\n")
            return
        }
        console.note("key \(key.id) of the app \(key.app), shown only now:")
        console.write(foreign: "\(key.key ?? "")\n")
    }
}

extension AppKey {
    /// The members that scripts use.
    fileprivate var json: JSONValue {
        var members: [String: JSONValue] = [
            "id": .string(id), "app": .string(app), "label": .string(label),
            "scopes": .array(scopes.map { .string($0) }),
            "created_at": .integer(Int(createdAt.timeIntervalSince1970)),
        ]
        members["models"] = models.map { .array($0.map { .string($0) }) }
        members["expires_at"] = expiresAt.map { .integer(Int($0.timeIntervalSince1970)) }
        members["revoked_at"] = revokedAt.map { .integer(Int($0.timeIntervalSince1970)) }
        members["key"] = key.map { .string($0) }
        return .object(members)
    }
}
