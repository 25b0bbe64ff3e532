import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdRelay

/// The token of the administrator, for requests that change the list of model servers.
struct AdminToken: Sendable {
    private let token: [UInt8]

    init(_ token: ConfigurationSecret) {
        self.token = Array(token.value.utf8)
    }

    /// The refusal of a request without the token; `nil` if the token is right.
    @Sendable func check(_ head: RequestHead) -> Refusal? {
        guard !admits(head.fields[.authorization]) else { return nil }
        return Refusal(
            RelayError(.unauthorized, "This needs the admin token, as Authorization: Bearer."),
            fields: [.wwwAuthenticate: "Bearer"])
    }

    /// Whether an `Authorization` field has the token (RFC 6750 2.1).
    func admits(_ authorization: String?) -> Bool {
        guard let authorization, let space = authorization.firstIndex(of: " "),
            authorization[..<space].lowercased() == "bearer"
        else { return false }
        return isSame(authorization[authorization.index(after: space)...].drop { $0 == " " }.utf8)
    }

    /// Compares in a time that depends on the length of `other` only, not on the number of right bytes.
    private func isSame(_ other: Substring.UTF8View) -> Bool {
        var difference = token.count ^ other.count
        for (index, byte) in other.enumerated() {
            difference |= Int(token[index % token.count] ^ byte)
        }
        return difference == 0
    }
}
