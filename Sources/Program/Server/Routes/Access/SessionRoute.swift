import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdPostgresStore
import ChatterdRelay

/// `/session`, for web pages: docs/api.md.
struct SessionRoute: Sendable {
    /// The lifetime of a session unless the request says otherwise, in seconds: 12 hours.
    static let standardLifetime = 43_200
    /// The longest lifetime of a session, in seconds: 30 days.
    static let maximumLifetime = SessionStore.longestLifetime

    let registry: AccessRegistry
    /// The digest of the administrator's token; `nil` without one.
    let administrator: String?

    /// Exchanges the credential of the request for a session, which lives no longer than the credential.
    @Sendable func create(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        let object = try RequestObject(try request.smallBody, members: ["expires_in"])
        guard let credential = StoredCredential(principal.credential, administrator: administrator) else {
            throw RelayError(
                AccessError(.unauthorized, "A session is made with a key or a token, as Authorization: Bearer."))
        }
        let now = registry.seconds()
        let lifetime = try object.number("expires_in", in: 1...Self.maximumLifetime) ?? Self.standardLifetime
        let end = min(now + Int64(lifetime), principal.expiresAt ?? .max)
        let value = try await registry.sessions.create(credential, of: principal, expiresAt: end)
        let fields = Self.fields(value, lifetime: end - now, request)
        responder.respond(.created, json: Self.document(principal, expiresAt: end), fields: fields)
    }

    /// Describes the principal of the request.
    @Sendable func show(_ request: Request, _ responder: Responder, _ principal: Principal) async {
        responder.respond(
            json: Self.document(principal, expiresAt: principal.expiresAt), fields: [.cacheControl: "no-store"])
    }

    /// Ends the session of the request, if there is one, and removes the cookie. A request with several sessions ends none of them.
    @Sendable func end(_ request: Request, _ responder: Responder) async {
        do throws(RelayError) {
            let cookie: String?
            do throws(AccessError) {
                cookie = try CredentialText.session(of: request.head)
            } catch {
                throw RelayError(error)
            }
            if let cookie { try await registry.sessions.end(cookie) }
            responder.respondEmptyObject(fields: Self.fields("", lifetime: 0, request))
        } catch {
            responder.refuse(error)
        }
    }

    private static func fields(_ value: String, lifetime: Int64, _ request: Request) -> Fields {
        let isSecure = request.isSecure || request.fields[.xForwardedProto]?.lowercased() == "https"
        return [
            .cacheControl: "no-store", .setCookie: SessionCookie.field(value, lifetime: lifetime, isSecure: isSecure),
        ]
    }

    private static func document(_ principal: Principal, expiresAt: Int64?) -> ByteBuffer {
        var body = ByteBuffer()
        body.appendJSON { json in
            json.object { json in
                json.member("app", principal.owner?.app)
                json.member("person", principal.owner?.person)
                json.array("scopes") { json in
                    for scope in principal.scopes.sorted() {
                        json.string(scope.rawValue)
                    }
                }
                json.member("expires_at", expiresAt.map { Int($0) })
            }
        }
        return body
    }
}
