import HTTP

/// Which names the server answers to, and which web pages may use it.
///
/// A browser lets any page send requests to any server, an address of its own machine or network included; what protects a server
/// there is that it looks at whom the request is for, and where it comes from. The Host field shows a page that has its own name
/// point to the server (DNS rebinding), Origin and Sec-Fetch-Site (Fetch Standard, Fetch Metadata) any other foreign page.
public struct BrowserPolicy: Sendable, Equatable {
    /// The names that a Host field may have beside numeric addresses and `localhost`; nil for any.
    public var hosts: Set<HostName>?
    /// The foreign origins whose pages may use the server.
    public var origins: Set<WebOrigin>
    /// The patterns of routes that are open to all.
    public var openRoutes: Set<String>

    /// Makes a policy; the default lets all hosts and no foreign page in.
    public init(hosts: Set<HostName>? = nil, origins: Set<WebOrigin> = [], openRoutes: Set<String> = []) {
        self.hosts = hosts
        self.origins = origins
        self.openRoutes = openRoutes
    }

    /// What becomes of a request.
    enum Verdict: Equatable {
        /// It is served.
        case served
        /// It is served, and the browser lets the page of a listed origin, written as the field has it, read the response.
        case shared(with: String)
        /// It is refused.
        case refused(Refusal)
    }

    /// Judges a request by its head; `isSecure` tells whether it came over TLS.
    func verdict(on head: RequestHead, isSecure: Bool) -> Verdict {
        if let host = head.host, !answers(to: host) {
            return .refused(.misdirected)
        }
        if let text = head.fields[.origin] {
            guard head.fields.count(of: .origin) == 1, let origin = WebOrigin(parsing: text) else {
                return .refused(.foreignOrigin)
            }
            if origins.contains(origin) { return .shared(with: text) }
            // RFC 6454 4: the page's own server has the same scheme, host and port.
            let own = head.host.flatMap { WebOrigin(scheme: isSecure ? "https" : "http", authority: $0) }
            guard origin == own else { return .refused(.foreignOrigin) }
        }
        switch head.fields[.secFetchSite] {
        case nil, "same-origin", "none": return .served
        default: return .refused(.foreignOrigin)
        }
    }

    private func answers(to host: String) -> Bool {
        guard let hosts, !HostName.isFixed(host) else { return true }
        return HostName(authority: host).map { hosts.contains($0) } ?? false
    }

    /// What is wrong with the body that a request announces, whatever it holds.
    static func refusalOfBody(_ head: RequestHead) -> Refusal? {
        let codings = head.fields.elements(of: .contentEncoding)
        guard codings.allSatisfy({ $0.lowercased() == "identity" }) else { return .compressed }
        // A form of a page can send these without the browser's asking first; another client has no Origin.
        guard head.fields.contains(.origin), let type = head.fields.mediaType, type.isOfForms else { return nil }
        return .formOfPage
    }

    /// The fields of the answer to a preflight, Fetch Standard 4.8: what pages of listed origins may send.
    static func preflight(methods: String) -> Fields {
        var fields: Fields = [
            .accessControlAllowHeaders:
                "authorization, content-type, idempotency-key, last-event-id, on-disconnect, queue-events, x-app-id, x-request-id",
            .accessControlMaxAge: "600",
        ]
        if let methods = FieldValue(validating: methods) {
            fields.set(.accessControlAllowMethods, methods)
        }
        return fields
    }
}

extension MediaType {
    /// Whether an HTML form can send it (HTML Standard, "form submission"; Fetch Standard, "CORS-safelisted request-header").
    var isOfForms: Bool {
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"].contains(text)
    }
}
