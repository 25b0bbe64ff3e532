import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity

/// The app that the field `User-Agent` of a request names, for clients whose field is the identifier of their app.
enum UserAgentApp {
    private static let field = FieldName("User-Agent")

    /// The name of the first product of a field (RFC 9110 10.1.5), without its version; `nil` if no app can have this name.
    static func name(in field: String) -> String? {
        let name = String(field.unicodeScalars.prefix { $0 != "/" && $0 != " " })
        guard 1...Owner.maximumAppLength ~= name.unicodeScalars.count, Owner.isName(name) else { return nil }
        return name
    }

    /// The request as if it named the app of its `User-Agent`, if it has no credential and names no app.
    static func naming(_ request: Request, _ principal: Principal) -> Request {
        guard principal.credential == .none, !request.fields.contains(.xAppID),
            request.head.target.queryItem("appID") == nil,
            let text = field.flatMap({ request.fields[$0] }), let name = name(in: text),
            let value = FieldValue(validating: name)
        else { return request }
        var named = request
        named.head.fields.set(.xAppID, value)
        return named
    }
}
