import ChatterdBasics
import ChatterdHTTP
import ChatterdIdentity
import ChatterdRelay

/// The text of the credential of a request, by its form. It is not verified.
enum CredentialText: Sendable, Hashable {
    /// The request has no credential.
    case none
    /// A bearer token (RFC 6750 2.1), or an `x-api-key` field.
    case bearer(String)
    /// The cookie of a session.
    case session(String)
    /// A signed link, from the query.
    case link(String)

    /// Limit of a credential, in bytes.
    static let limit = 8 << 10

    /// Finds the credential in the head of a request. A field that the client sets comes before the cookie, which a browser adds, and that
    /// before a link.
    ///
    /// - Throws: `unauthorized` for several credentials and for one beyond the limit: a proxy and the server could choose different ones.
    init(of head: RequestHead) throws(AccessError) {
        var texts = head.fields.values(of: .xAPIKey)
        for value in head.fields.values(of: .authorization) {
            guard let space = value.unicodeScalars.firstIndex(of: " "), value[..<space].lowercased() == "bearer"
            else { continue }
            texts.append(String(value.unicodeScalars[space...].drop { $0 == " " }))
        }
        if let text = try Self.single(texts) {
            self = .bearer(text)
        } else if let text = try Self.session(of: head) {
            self = .session(text)
        } else if head.method == .get || head.method == .head, let text = try Self.single(Self.links(in: head)) {
            self = .link(text)
        } else {
            self = .none
        }
    }

    /// The text with the kind of the credential, so that a text of one kind is never taken for another.
    var identity: String {
        switch self {
        case .none: ""
        case .bearer(let text): "bearer \(text)"
        case .session(let text): "session \(text)"
        case .link(let text): "link \(text)"
        }
    }

    /// The value of the session's cookie; `nil` without one.
    ///
    /// - Throws: `unauthorized` for several sessions and for one beyond the limit.
    static func session(of head: RequestHead) throws(AccessError) -> String? {
        try single(SessionCookie.values(in: head))
    }

    private static func links(in head: RequestHead) -> [String] { head.target.queryItem("link").map { [$0] } ?? [] }

    private static func single(_ texts: [String]) throws(AccessError) -> String? {
        // An empty field is no credential, and hides none.
        let texts = texts.filter { !$0.isEmpty }
        guard let text = texts.first else { return nil }
        guard texts.allSatisfy({ $0 == text }) else {
            throw AccessError(.unauthorized, "The request has several credentials. Send one.")
        }
        guard text.utf8.count <= limit else {
            throw AccessError(.unauthorized, "The credential is longer than \(limit) bytes.")
        }
        return text
    }
}
