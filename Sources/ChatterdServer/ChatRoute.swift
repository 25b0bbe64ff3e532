import Bytes
import HTTP
import HTTPServer
import LanguageModels
import Relay

/// `POST /llmchat` and `POST /llmprep`: docs/api.md.
struct ChatRoute: Sendable {
    let services: [ShardServices]
    let sender: ReplySender
    /// The model of a prompt that names none; without it, a prompt must.
    let defaultModel: String?

    /// Stores the prompt, asks the model with the whole conversation, and streams or sends the answer.
    @Sendable func answer(_ request: Request, _ responder: Responder) async {
        do throws(RelayError) {
            let service = services[request].chat
            var chat = try decode(request, responder, requiringModel: defaultModel == nil)
            if let defaultModel, chat.model.isEmpty {
                chat.model = defaultModel
            }
            chat.onDisconnect = try request.disconnectPolicy(unless: chat.onDisconnect)
            let form = ReplyForm(
                stream: chat.stream, tellsQueue: try request.queueEvents(unless: chat.queueEvents))
            let key = try request.idempotencyKey()
            // From the return of accept on the prompt is committed.
            switch try await service.accept(chat, key: key) {
            case .started(let reply):
                await sender.run(reply, as: form, to: responder)
            case .known(let reply):
                await sender.send(reply, as: form, by: service, to: responder)
            }
        } catch {
            responder.refuse(error)
        }
    }

    /// Replaces the conversation by the messages of the request.
    @Sendable func prepare(_ request: Request, _ responder: Responder) async {
        do throws(RelayError) {
            let chat = try decode(request, responder, requiringModel: false)
            try await services[request].chat.replaceConversation(chat)
            responder.respondEmptyObject()
        } catch {
            responder.refuse(error)
        }
    }

    private func decode(
        _ request: Request, _ responder: Responder, requiringModel: Bool
    ) throws(RelayError) -> ChatRequest {
        try request.requireJSON(
            like: requiringModel
                ? #"{"appID":"me","model":"llama3.2","messages":[{"role":"user","content":"Hello"}]}"#
                : #"{"appID":"me","messages":[{"role":"user","content":"Hello"}]}"#)
        do throws(ChatRequestError) {
            let chat = try ChatRequest(decoding: request.body.span, requiringModel: requiringModel)
            responder.annotate(Annotation.appID, chat.appID)
            return chat
        } catch {
            throw RelayError(.invalidRequest, error.message)
        }
    }
}
