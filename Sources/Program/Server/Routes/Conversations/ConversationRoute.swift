import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdPostgresStore
import ChatterdRelay

/// `DELETE /conversations/:c`: docs/api.md.
struct ConversationRoute: Sendable {
    let services: ShardedServices
    let audit: AppKeyStore

    /// Removes a conversation with all its data. An unknown conversation counts as removed.
    @Sendable func delete(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        let key = try principal.conversation(ofPath: request)
        responder.annotate(Annotation.appID, key.owner.app)
        try await audit.recordDeletion(of: key, by: principal.credential.actor)
        try await services[request].chat.deleteConversation(key)
        responder.respondEmptyObject()
    }
}

extension Principal {
    /// The conversation of the path: of the owner of the request; without an owner, the default conversation of the app in the path.
    ///
    /// - Throws: `forbidden`; `invalidRequest` for names that no conversation has.
    func conversation(ofPath request: Request) throws(RelayError) -> ConversationKey {
        let name = PathEncoding.name(ofSegment: request.parameter ?? "")
        guard let owner = try owner(of: request) else {
            try name.requireName("An appID", upTo: Owner.maximumAppLength)
            return ConversationKey(Owner(app: name))
        }
        try name.requireName("The name of a conversation", upTo: ConversationKey.maximumNameLength)
        let key = ConversationKey(owner, name: name)
        try check(key)
        return key
    }
}
