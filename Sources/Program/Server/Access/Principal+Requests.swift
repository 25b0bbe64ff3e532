import ChatterdBasics
import ChatterdChat
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdRelay

extension Principal {
    /// Throws `forbidden` without the scope; `unauthorized` if a request without a credential needs one.
    func check(_ scope: Scope) throws(RelayError) {
        if credential == .none, !scopes.contains(scope) {
            throw RelayError(Self.neededCredential(for: scope))
        }
        try relayed { () throws(AccessError) in try require(scope) }
    }

    /// The error of a request without a credential.
    static func neededCredential(for scope: Scope) -> AccessError {
        AccessError(
            .unauthorized,
            scope == .admin
                ? "This needs the admin token, or a key with the scope admin, as Authorization: Bearer."
                : "This needs a key of an app, or a token made with it, as Authorization: Bearer. The operator makes keys with "
                    + "`chatterd keys create --app NAME`.")
    }

    /// The conversation that the body of a request names.
    ///
    /// - Throws: `forbidden`; `invalidRequest` if neither the credential nor the body names an app.
    func conversation(of chat: ChatRequest) throws(RelayError) -> ConversationKey {
        let owner = try relayed { () throws(AccessError) -> Owner? in try self.owner(naming: chat.appID) }
        guard let owner else { throw RelayError(.invalidRequest, ChatRequestError.missingAppID.message) }
        let key = ConversationKey(owner, name: chat.conversation)
        try check(key)
        try key.requireNewName()
        return key
    }

    /// Throws `forbidden` unless the credential permits the conversation.
    func check(_ key: ConversationKey) throws(RelayError) {
        try relayed { () throws(AccessError) in try require(key) }
    }

    /// The owner that a request without a body acts for: that of the credential, or the app of `X-App-ID` or `?appID=`.
    ///
    /// - Returns: `nil` if the request names no app.
    /// - Throws: `forbidden`; `invalidRequest` for a name that no app has.
    func owner(of request: Request) throws(RelayError) -> Owner? {
        if let app = request.namedApp {
            try app.requireName("An appID", upTo: Owner.maximumAppLength)
        }
        return try ownerOfReply(of: request)
    }

    /// The owner of the reply that a request names, as `owner(of:)`. A name that no app has is no error, because no reply belongs to it.
    ///
    /// - Throws: `forbidden`.
    func ownerOfReply(of request: Request) throws(RelayError) -> Owner? {
        try relayed { () throws(AccessError) -> Owner? in try owner(naming: request.namedApp) }
    }

    /// Throws `forbidden` unless the credential permits the model.
    func check(model: String) throws(RelayError) {
        try relayed { () throws(AccessError) in try require(model: model) }
    }

    private func relayed<Value>(_ body: () throws(AccessError) -> Value) throws(RelayError) -> Value {
        do throws(AccessError) {
            return try body()
        } catch {
            throw RelayError(error)
        }
    }
}

extension Request {
    /// The app that a request without a body names.
    fileprivate var namedApp: String? { fields[.xAppID] ?? head.target.queryItem("appID") }
}

extension ConversationKey {
    /// Throws `invalidRequest` if no new conversation may have the name: clients and proxies remove it from paths (RFC 3986 5.2.4), which
    /// lead elsewhere then. Conversations of older versions may have it.
    func requireNewName() throws(RelayError) {
        guard name != ".", name != ".." else {
            throw RelayError(
                .invalidRequest,
                "A conversation must not have the name \(name), because clients and proxies remove it from paths. Choose another one."
            )
        }
    }
}

extension String {
    /// Throws `invalidRequest` unless the text can be a name of up to `limit` Unicode scalars.
    func requireName(_ noun: String, upTo limit: Int) throws(RelayError) {
        guard 1...limit ~= unicodeScalars.count else {
            throw RelayError(.invalidRequest, "\(noun) has 1 to \(limit) characters.")
        }
        guard Owner.isName(self) else {
            throw RelayError(.invalidRequest, "\(noun) must not contain control characters.")
        }
    }
}
