import ChatterdHTTP
import ChatterdIdentity
import ChatterdRelay

/// The text of the credential of a request, by its form. Nothing about it is verified.
enum CredentialText: Sendable, Hashable {
    /// The request has no credential.
    case none
    /// A bearer token (RFC 6750 2.1), or an `x-api-key` field.
    case bearer(String)

    /// Limit of a credential, in bytes.
    static let limit = 8 << 10

    /// Finds the credential in the head of a request.
    ///
    /// - Throws: `unauthorized` for several credentials and for one beyond the limit: a proxy and the server could choose different ones.
    init(of head: RequestHead) throws(AccessError) {
        var texts = head.fields.values(of: .xAPIKey)
        for value in head.fields.values(of: .authorization) {
            guard let space = value.firstIndex(of: " "), value[..<space].lowercased() == "bearer" else { continue }
            texts.append(String(value[space...].drop { $0 == " " }))
        }
        guard let text = texts.first, !text.isEmpty else {
            self = .none
            return
        }
        guard texts.count == 1 || texts.allSatisfy({ $0 == text }) else {
            throw AccessError(.unauthorized, "The request has several credentials. Send one.")
        }
        guard text.utf8.count <= Self.limit else {
            throw AccessError(.unauthorized, "The credential is longer than \(Self.limit) bytes.")
        }
        self = .bearer(text)
    }
}
