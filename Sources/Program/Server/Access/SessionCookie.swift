import ChatterdBasics
import ChatterdHTTP

/// The cookie of a session (RFC 6265): scripts cannot read it, and no other site can make a browser send it.
enum SessionCookie {
    private static let name = "chatterd_session"

    /// The values of the cookie in the head of a request.
    static func values(in head: RequestHead) -> [String] {
        head.fields.values(of: .cookie).flatMap { $0.unicodeScalars.split(separator: ";") }.compactMap { pair in
            let pair = pair.drop { $0 == " " }
            guard let equals = pair.firstIndex(of: "="), Substring(pair[..<equals]) == name else { return nil }
            return String(pair[pair.index(after: equals)...])
        }
    }

    /// The field that sets the cookie for a number of seconds; 0 removes it.
    static func field(_ value: String, lifetime: Int64, isSecure: Bool) -> FieldValue {
        let secure = isSecure ? "; Secure" : ""
        return FieldValue(
            validating: "\(name)=\(value); Path=/; Max-Age=\(lifetime); HttpOnly; SameSite=Strict\(secure)") ?? ""
    }
}
