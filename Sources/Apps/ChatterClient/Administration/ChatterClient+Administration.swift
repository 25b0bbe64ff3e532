import ChatterdHTTP

extension ChatterClient {
    /// The models that can be asked, and the health of their servers.
    public func models() async throws(ChatterError) -> ModelList {
        try await result(of: ClientRequest(.get, "/models"))
    }

    /// The name and version of the server: `chatterd 0.2.0`.
    public func serverVersion() async throws(ChatterError) -> String {
        try await result(of: ClientRequest(.get, "/"))
    }

    /// The requests and tokens of the credential in the last days, 92 at most.
    public func usage(days: Int = 7) async throws(ChatterError) -> Usage {
        try await result(of: ClientRequest(.get, "/usage?days=\(days)"))
    }

    // MARK: - For administrators

    /// The descriptions of the model servers, with the members of docs/configuration.md.
    public func modelServers() async throws(ChatterError) -> [[String: JSONValue]] {
        let list: ServerList = try await result(of: ClientRequest(.get, "/upstreams"))
        return list.upstreams
    }

    /// Adds a model server: its `name`, `kind`, `url` …
    @discardableResult
    public func addModelServer(_ description: [String: JSONValue]) async throws(ChatterError) -> [String: JSONValue] {
        try await result(of: .post, "/upstreams", description)
    }

    /// Replaces the description of a model server.
    @discardableResult
    public func replaceModelServer(
        _ name: String, by description: [String: JSONValue]
    ) async throws(ChatterError) -> [String: JSONValue] {
        try await result(of: .put, Self.path(ofServer: name), description)
    }

    /// Removes a model server.
    public func removeModelServer(_ name: String) async throws(ChatterError) {
        let _: Empty = try await result(of: ClientRequest(.delete, Self.path(ofServer: name)))
    }

    /// Asks a model server for its models, and one of them for a first token. This may take a minute.
    public func testModelServer(_ name: String, model: String? = nil) async throws(ChatterError) -> ModelServerTest {
        try await result(of: .post, "\(Self.path(ofServer: name))/test", ["model": model].compactMapValues { $0 })
    }

    /// The keys of all apps, or of one, the newest first.
    public func keys(of app: String? = nil) async throws(ChatterError) -> [AppKey] {
        var request = ClientRequest(.get, "/keys")
        request.addQuery([("app", app)])
        let list: KeyList = try await result(of: request)
        return list.keys
    }

    /// Makes a key. Its text is in the result, and never again.
    public func createKey(_ properties: KeyProperties) async throws(ChatterError) -> AppKey {
        try await result(of: .post, "/keys", properties)
    }

    /// Revokes a key, with all tokens that were made with it.
    public func revokeKey(_ id: String) async throws(ChatterError) {
        let _: Empty = try await result(of: ClientRequest(.delete, Self.path(ofKey: id)))
    }

    /// Makes a key with the same properties.
    ///
    /// - Parameters:
    ///   - id: the id of the old one.
    ///   - overlap: how long the old one stays valid, in whole seconds; `nil` for a day.
    public func rotateKey(_ id: String, overlap: Duration? = nil) async throws(ChatterError) -> AppKey {
        let body = ["overlap": overlap.map { Int($0.components.seconds) }].compactMapValues { $0 }
        return try await result(of: .post, "\(Self.path(ofKey: id))/rotate", body)
    }

    private static func path(ofServer name: String) -> String { "/upstreams/\(PathEncoding.segment(name))" }
    private static func path(ofKey id: String) -> String { "/keys/\(PathEncoding.segment(id))" }

    private struct ServerList: Decodable {
        let upstreams: [[String: JSONValue]]
    }

    private struct KeyList: Decodable {
        let keys: [AppKey]
    }
}
