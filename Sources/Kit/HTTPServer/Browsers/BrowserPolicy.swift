import ChatterdBasics
import ChatterdHTTP

/// The host names that the server accepts, and the web pages that may use it.
///
/// A browser lets any page send requests to any server, also to servers of its own machine or network. Such a server must check the
/// target and the source of each request. The Host field reveals a page whose own name points to the server (DNS rebinding). Origin
/// and Sec-Fetch-Site (Fetch Standard, Fetch Metadata) reveal any other foreign page.
public struct BrowserPolicy: Sendable, Equatable {
    /// The accepted names of a Host field, beside numeric addresses and `localhost`; `nil` for any name.
    public var hosts: Set<HostName>?
    /// The foreign origins whose pages may use the server.
    public var origins: Set<WebOrigin>
    /// The patterns of routes that every host and origin may use.
    public var openRoutes: Set<String>

    /// The patterns of routes that a link of any site may open, as they show the same to everyone.
    public var pageRoutes: Set<String>

    /// The fields that pages of the listed origins may send without asking for them; they may also send those that they ask for.
    public var requestFields: [FieldName]

    /// Creates a policy. The default accepts all hosts and no foreign page.
    public init(
        hosts: Set<HostName>? = nil, origins: Set<WebOrigin> = [], openRoutes: Set<String> = [],
        pageRoutes: Set<String> = [], requestFields: [FieldName] = []
    ) {
        self.hosts = hosts
        self.origins = origins
        self.openRoutes = openRoutes
        self.pageRoutes = pageRoutes
        self.requestFields = requestFields
    }

    /// The decision on a request.
    enum Verdict: Equatable {
        /// The server serves the request.
        case served
        /// The server serves the request, and the page of the listed origin may read the response. The origin has the spelling of
        /// the field.
        case shared(with: String)
        /// The server refuses the request.
        case refused(Refusal)
    }

    /// Decides on a request by its head. `isSecure` says whether the request came over TLS, `isPage` whether it is for one of `pageRoutes`.
    func verdict(on head: RequestHead, isSecure: Bool, isPage: Bool = false) -> Verdict {
        if let host = head.host, !answers(to: host) {
            return .refused(.misdirected)
        }
        if let text = head.fields[.origin] {
            guard head.fields.count(of: .origin) == 1, let origin = WebOrigin(parsing: text) else {
                return .refused(.foreignOrigin)
            }
            if origins.contains(origin) { return .shared(with: text) }
            // RFC 6454 4: the server's own pages have the same scheme, host and port.
            let own = head.host.flatMap { WebOrigin(scheme: isSecure ? "https" : "http", authority: $0) }
            guard origin == own else { return .refused(.foreignOrigin) }
        }
        switch head.fields[.secFetchSite] {
        case nil, "same-origin", "none": return .served
        // Fetch Metadata: the browser shows the response to its user, and to no script of the other site.
        case _ where isPage && head.method.isSafe && head.fields[.secFetchMode] == "navigate": return .served
        default: return .refused(.foreignOrigin)
        }
    }

    private func answers(to host: String) -> Bool {
        guard let hosts, !HostName.isFixed(host) else { return true }
        return HostName(authority: host).map { hosts.contains($0) } ?? false
    }

    /// The refusal of a body that the head announces; `nil` for an acceptable one.
    static func refusalOfBody(_ head: RequestHead) -> Refusal? {
        let codings = head.fields.elements(of: .contentEncoding)
        guard codings.allSatisfy({ $0.lowercased() == "identity" }) else { return .compressed }
        // A form can send these types without a preflight. Clients other than browsers send no Origin.
        guard head.fields.contains(.origin), let type = head.fields.mediaType, type.isOfForms else { return nil }
        return .formOfPage
    }

    /// The limit of the field names that a preflight may ask for; the following ones are not allowed.
    static let maximumAskedFields = 64
    /// The limit of the bytes of these names, together.
    static let maximumAskedBytes = 4_096
    /// The fields of sessions, which belong to the server's own pages: no page of another origin may send them.
    private static let sessionFields: Set<FieldName> = [.cookie, .xChatterdSession]

    /// The names that a preflight asks for, beside `requestFields`. Libraries have fields of their own, and new ones with each version; a
    /// listed origin is trusted with all of them.
    private func names(askedBy preflight: Fields) -> [FieldName] {
        var known = Self.sessionFields.union(requestFields)
        var names: [FieldName] = []
        var size = 0
        for text in preflight.elements(of: .accessControlRequestHeaders).prefix(Self.maximumAskedFields) {
            // A star would allow all fields.
            guard let name = FieldName(String(text)), name.text != "*", known.insert(name).inserted else { continue }
            size += name.text.utf8.count
            guard size <= Self.maximumAskedBytes else { break }
            names.append(name)
        }
        return names
    }

    /// The fields of the answer to a preflight of a listed origin (Fetch Standard 4.8).
    ///
    /// - Parameter preflight: the fields of the request.
    func preflight(methods: String, for preflight: Fields) -> Fields {
        var fields: Fields = [.accessControlMaxAge: "600"]
        let allowed = requestFields + names(askedBy: preflight)
        if let names = FieldValue(validating: allowed.map(\.text).joined(separator: ", ")) {
            fields.set(.accessControlAllowHeaders, names)
        }
        if let methods = FieldValue(validating: methods) {
            fields.set(.accessControlAllowMethods, methods)
        }
        return fields
    }
}

extension MediaType {
    /// Whether an HTML form can send this type (HTML Standard, "form submission"; Fetch Standard, "CORS-safelisted
    /// request-header").
    var isOfForms: Bool {
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"].contains(text)
    }
}
