import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdPage

/// The web page: `GET /` for browsers, and the files below `/page`: docs/api.md, docs/page.md.
///
/// The files have no secrets and need no credential.
struct PageRoute: Sendable {
    /// The policy of the page (Content Security Policy Level 3, Trusted Types): it runs its own scripts only, talks to its own server
    /// only, and makes no markup from text.
    static let policy: FieldValue =
        """
        default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; \
        manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
        require-trusted-types-for 'script'; trusted-types 'none'
        """

    private let identity: Handler
    private let settings: PageFile

    /// - Parameters:
    ///   - app: the app of the page's conversations in `open` mode.
    ///   - identity: the answer of `/` to other clients than browsers.
    init(app: String, identity: @escaping Handler) {
        self.identity = identity
        var body = ByteBuffer()
        body.appendJSON { json in json.object { $0.member("app", app) } }
        settings = PageFile("settings.json", body.bytes.array)
    }

    /// Sends the page to a client that accepts HTML, and the identity of the server to any other.
    @Sendable func open(_ request: Request, _ responder: Responder) async {
        let acceptsPage = request.fields.elements(of: .accept).contains { MediaType(String($0)) == .html }
        guard acceptsPage else {
            await identity(request, responder)
            return
        }
        send(PageFiles.document, request, responder)
    }

    /// Sends the file with the name of the request in a folder of the page; the folder of the page itself is the empty text.
    func file(in folder: String) -> Handler {
        { request, responder in
            let name = folder + (request.parameter ?? "")
            guard let file = name == settings.name ? settings : PageFiles.all.first(where: { $0.key == name })?.value
            else {
                responder.refuse(
                    Refusal(.notFound, code: "not_found", message: "The page has no file of this name."))
                return
            }
            send(file, request, responder)
        }
    }

    private func send(_ file: PageFile, _ request: Request, _ responder: Responder) {
        var fields: Fields = [
            .cacheControl: "no-cache", .xContentTypeOptions: "nosniff", .vary: "accept, accept-encoding",
        ]
        if file.isDocument {
            fields.set(.contentSecurityPolicy, Self.policy)
            fields.set(.referrerPolicy, "no-referrer")
        }
        if let tag = FieldValue(validating: file.tag) { fields.set(.etag, tag) }
        // RFC 9110 13.1.2: a weak comparison.
        let known = request.fields.elements(of: .ifNoneMatch).map { $0.hasPrefix("W/") ? $0.dropFirst(2) : $0 }
        guard !known.contains(where: { $0 == file.tag || $0 == "*" }) else {
            responder.respond(.notModified, fields: fields)
            return
        }
        if let type = FieldValue(validating: file.contentType) { fields.set(.contentType, type) }
        // RFC 9110 12.5.3: a coding that is listed is accepted, unless its weight is 0.
        let accepted = request.fields.elements(of: .acceptEncoding).filter {
            !$0.contains("q=0") || $0.contains("q=0.")
        }
        guard accepted.contains(where: { Substring($0.unicodeScalars.prefix { $0 != ";" && $0 != " " }) == "gzip" })
        else {
            responder.respond(.ok, fields: fields, body: file.bytes)
            return
        }
        fields.set(.contentEncoding, "gzip")
        responder.respond(.ok, fields: fields, body: file.compressed)
    }
}
