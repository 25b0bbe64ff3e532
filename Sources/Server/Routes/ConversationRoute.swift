import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdLanguageModels
import ChatterdRelay

/// `DELETE /conversations/:c`: docs/api.md.
struct ConversationRoute: Sendable {
    let services: ShardedServices

    /// Removes a conversation with all its data. An unknown conversation counts as removed.
    @Sendable func delete(_ request: Request, _ responder: Responder) async {
        do throws(RelayError) {
            let key = try request.conversationKey()
            responder.annotate(Annotation.appID, key.app)
            try await services[request].chat.deleteConversation(key)
            responder.respondEmptyObject()
        } catch {
            responder.refuse(error)
        }
    }
}

extension Request {
    /// The conversation of the path: of the app that `X-App-ID` or `?appID=` names; without them, the default conversation of the app
    /// in the path.
    ///
    /// - Throws: `invalidRequest` for names that no conversation has.
    fileprivate func conversationKey() throws(RelayError) -> ConversationKey {
        let name = parameter ?? ""
        guard let app = fields[.xAppID] ?? head.target.queryItem("appID") else {
            return ConversationKey(app: try Self.checked(name, "An appID"))
        }
        return ConversationKey(
            app: try Self.checked(app, "An appID"), name: try Self.checked(name, "The name of a conversation"))
    }

    private static func checked(_ name: String, _ noun: String) throws(RelayError) -> String {
        let limit = max(ChatRequest.maximumAppIDLength, ChatRequest.maximumConversationLength)
        guard 1...limit ~= name.unicodeScalars.count else {
            throw RelayError(.invalidRequest, "\(noun) has 1 to \(limit) characters.")
        }
        guard ConversationKey.isName(name) else {
            throw RelayError(.invalidRequest, "\(noun) must not contain U+001F.")
        }
        return name
    }
}
