import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdRelay

/// The token that changes the list of model servers.
struct AdminToken: Sendable {
    private let token: [UInt8]

    init(_ token: ConfigurationSecret) {
        self.token = Array(token.value.utf8)
    }

    /// Throws `unauthorized` if the request lacks the token.
    @Sendable func check(_ head: RequestHead) -> Refusal? {
        guard !admits(head.fields[.authorization]) else { return nil }
        return Refusal(
            RelayError(.unauthorized, "This needs the admin token, as Authorization: Bearer."),
            fields: [.wwwAuthenticate: "Bearer"])
    }

    /// Whether an `Authorization` field brings it (RFC 6750 2.1).
    func admits(_ authorization: String?) -> Bool {
        guard let authorization, let space = authorization.firstIndex(of: " "),
            authorization[..<space].lowercased() == "bearer"
        else { return false }
        return isSame(authorization[authorization.index(after: space)...].drop { $0 == " " }.utf8)
    }

    /// Compares in a time that depends on what was sent only, not on how much of it is right.
    private func isSame(_ other: Substring.UTF8View) -> Bool {
        var difference = token.count ^ other.count
        for (index, byte) in other.enumerated() {
            difference |= Int(token[index % token.count] ^ byte)
        }
        return difference == 0
    }
}
