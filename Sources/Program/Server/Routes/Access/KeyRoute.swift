import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdPostgresStore
import ChatterdRelay

/// `/keys` and the paths below it, for administrators: docs/api.md.
struct KeyRoute: Sendable {
    /// The time for which a replaced key stays valid unless the request says otherwise, in seconds.
    static let standardOverlap = 86_400
    /// The longest lifetime of a key, and the longest overlap, in seconds: ten years.
    static let maximumLifetime = 315_360_000

    let registry: AccessRegistry

    /// Lists the keys of all apps, or of the app of `?app=`.
    @Sendable func list(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        let app = request.head.target.queryItem("app")
        try app?.requireName("app", upTo: Owner.maximumAppLength)
        let keys = try await registry.store.list(app: app)
        var body = ByteBuffer()
        body.appendJSON { json in
            json.object { json in
                json.array("keys") { json in
                    for key in keys {
                        json.object { key.write(to: &$0) }
                    }
                }
            }
        }
        responder.respond(json: body, fields: Self.secret)
    }

    /// Makes a key. The answer has its text, which is shown once.
    @Sendable func create(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        try request.requireJSON(like: #"{"app":"shop","scopes":["chat","read","tokens"]}"#)
        let grant = try Self.grant(of: try request.smallBody, now: registry.seconds())
        let made = try await registry.store.create(grant, by: principal.credential.actor)
        Self.respond(.created, made.key, made.text, to: responder)
    }

    /// Revokes a key.
    @Sendable func revoke(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        let id = request.parameter ?? ""
        guard let key = try await registry.store.revoke(id, by: principal.credential.actor) else {
            throw Self.unknown
        }
        Self.respond(.ok, key, nil, to: responder)
    }

    /// Makes a key with the same properties. The old one stays valid for the overlap.
    @Sendable func rotate(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        let object = try RequestObject(try request.smallBody, members: ["overlap"])
        let overlap = try object.number("overlap", in: 0...Self.maximumLifetime) ?? Self.standardOverlap
        let made = try await registry.store.rotate(
            request.parameter ?? "", overlap: .seconds(overlap), by: principal.credential.actor,
            now: registry.seconds())
        guard let made else { throw Self.unknown }
        Self.respond(.created, made.key, made.text, to: responder)
    }

    private static let unknown = RelayError(
        .keyNotFound, "There is no valid key with this id. GET /keys lists the ids.")

    /// No cache may keep an answer with a secret.
    private static let secret: Fields = [.cacheControl: "no-store"]

    private static func respond(_ status: Status, _ key: AppKey, _ text: AppKeyText?, to responder: Responder) {
        var body = ByteBuffer()
        body.appendJSON { json in
            json.object { json in
                key.write(to: &json)
                json.member("key", text?.text)
            }
        }
        responder.respond(status, json: body, fields: secret)
    }

    /// Reads the properties of a new key.
    ///
    /// - Throws: `invalidRequest`.
    static func grant(of body: [UInt8], now: Int64) throws(RelayError) -> AppKeyGrant {
        let object = try RequestObject(
            body,
            members: ["app", "label", "scopes", "models", "expires_in"] + RequestObject.limits)
        guard let app = try object.name("app", upTo: Owner.maximumAppLength) else {
            throw RelayError(.invalidRequest, "app is missing: the appID that the key belongs to.")
        }
        var grant = AppKeyGrant(app: app)
        grant.label = try object.name("label", upTo: AppKey.maximumLabelLength) ?? ""
        if let scopes = try object.scopes("scopes") {
            grant.scopes = scopes
        }
        grant.models = try object.names("models", atMost: AppKey.maximumModels, upTo: TokenGrant.maximumModelLength)
        grant.allowance = try object.allowance()
        grant.expiresAt = try object.number("expires_in", in: 1...Self.maximumLifetime).map { now + Int64($0) }
        return grant
    }
}

extension RequestObject {
    /// A list of scopes, at least one; `nil` if it is absent.
    func scopes(_ member: String) throws(RelayError) -> Set<Scope>? {
        guard let words = try names(member, atMost: Scope.allCases.count, upTo: 32) else { return nil }
        let scopes = words.compactMap { Scope(word: $0) }
        guard !scopes.isEmpty, scopes.count == words.count else {
            let all = Scope.allCases.map(\.rawValue).joined(separator: ", ")
            throw RelayError(.invalidRequest, "\(member) must be a list of \(all), with one at least.")
        }
        return Set(scopes)
    }
}

extension AppKey {
    /// Appends the members of the key, without its secret.
    fileprivate func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("app", grant.app)
        json.member("label", grant.label)
        json.array("scopes") { json in
            for scope in grant.scopes.sorted() {
                json.string(scope.rawValue)
            }
        }
        if let models = grant.models {
            json.array("models") { json in
                for model in models {
                    json.string(model)
                }
            }
        }
        for (name, value) in grant.allowance.members {
            json.member(name, value)
        }
        json.member("created_at", Int(createdAt))
        json.member("expires_at", grant.expiresAt.map { Int($0) })
        json.member("revoked_at", revokedAt.map { Int($0) })
    }
}
