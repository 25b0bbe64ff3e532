import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdPostgresStore
import ChatterdRelay

extension CatalogueQuery {
    /// The limit of conversations in a page, and the number without `limit`.
    static let maximumLimit = 200
    static let defaultLimit = 50
    /// The limit of the text of a search, in Unicode scalars.
    static let maximumSearchLength = 200

    /// Reads the query items `limit`, `cursor`, `archived` and `requests`.
    ///
    /// - Throws: `invalidRequest`; `forbidden` for the app of another credential.
    init(_ request: Request, _ principal: Principal) throws(RelayError) {
        self.init(owner: try principal.requiredOwner(of: request), limit: Self.defaultLimit)
        names = principal.conversations.map { $0.map(\.text) }
        if let text = request.head.target.queryItem("limit") {
            guard let number = Int(text), 1...Self.maximumLimit ~= number else {
                throw RelayError(.invalidRequest, "limit must be a whole number from 1 to \(Self.maximumLimit).")
            }
            limit = number
        }
        if let text = request.head.target.queryItem("archived") {
            guard let archive = CatalogueArchive(word: text) else {
                throw RelayError(.invalidRequest, "archived must be 0, 1 or all.")
            }
            self.archive = archive
        }
        if let text = request.head.target.queryItem("requests") {
            guard text == "0" || text == "1" else {
                throw RelayError(.invalidRequest, "requests must be 0 or 1.")
            }
            listsSingles = text == "1"
        }
        if let text = request.head.target.queryItem("cursor") {
            guard let position = CataloguePosition(parsing: text) else {
                throw RelayError(.invalidRequest, "cursor is not a value that this server gives as next.")
            }
            self.position = position
        }
    }
}

extension Request {
    /// The text of a search; `nil` for a list.
    ///
    /// - Throws: `invalidRequest`.
    func searchText() throws(RelayError) -> String? {
        guard let text = head.target.queryItem("q") else { return nil }
        try text.requireName("q", upTo: CatalogueQuery.maximumSearchLength)
        return text
    }
}

extension Principal {
    /// The owner that a request acts for.
    ///
    /// - Throws: `forbidden`; `invalidRequest` if neither the credential nor the request names an app.
    func requiredOwner(of request: Request) throws(RelayError) -> Owner {
        guard let owner = try owner(of: request) else {
            throw RelayError(.invalidRequest, "The request names no app. Send its appID in X-App-ID, or as ?appID=.")
        }
        return owner
    }
}
