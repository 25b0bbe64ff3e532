import ChatterdHTTPServer
import ChatterdLanguageModels
import ChatterdRelay

/// `DELETE /conversations/:appID`: docs/api.md.
struct ConversationRoute: Sendable {
    let services: ShardedServices

    /// Removes a conversation with all its data. An unknown conversation counts as removed.
    @Sendable func delete(_ request: Request, _ responder: Responder) async {
        do throws(RelayError) {
            let appID = request.parameter ?? ""
            guard appID.unicodeScalars.count <= ChatRequest.maximumAppIDLength else {
                throw RelayError(
                    .invalidRequest, "An appID has at most \(ChatRequest.maximumAppIDLength) characters.")
            }
            responder.annotate(Annotation.appID, appID)
            try await services[request].chat.deleteConversation(appID: appID)
            responder.respondEmptyObject()
        } catch {
            responder.refuse(error)
        }
    }
}
