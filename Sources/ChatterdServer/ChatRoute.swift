import Bytes
import HTTP
import HTTPServer
import LanguageModels
import Relay

/// `POST /llmchat` and `POST /llmprep`: docs/api.md.
struct ChatRoute: Sendable {
    private let services: [ShardServices]
    private let keepAlive: Duration
    private let unsentLimit: Int

    init(services: [ShardServices], configuration: Configuration) {
        self.services = services
        keepAlive = configuration.relay.keepAlive
        unsentLimit = configuration.server.unsentLimit
    }

    /// Stores the prompt, asks the model with the whole conversation, and streams or sends the answer.
    @Sendable func answer(_ request: Request, _ responder: Responder) async {
        do throws(RelayError) {
            let chat = try decode(request, responder)
            let reply = try await services[request].chat.accept(chat)
            // From here on the prompt is committed.
            if chat.stream {
                let stream = responder.stream(.ok, fields: Self.streamFields)
                let reader = EventStreamReader(stream, responder: responder, unsentLimit: unsentLimit)
                reader.follow(reply, keepAlive: keepAlive)
                if stream.isClosed {
                    // The client left while the prompt was being stored: nobody will report it.
                    reply.readerLeft()
                }
            } else {
                let reader = WholeAnswerReader(responder)
                reader.follow(reply)
                if !responder.isWaiting {
                    reply.readerLeft()
                }
            }
            await reply.run()
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
        _ request: Request, _ responder: Responder, requiringModel: Bool = true
    ) throws(RelayError) -> ChatRequest {
        do throws(ChatRequestError) {
            let chat = try ChatRequest(decoding: request.body.span, requiringModel: requiringModel)
            responder.annotate(Annotation.appID, chat.appID)
            return chat
        } catch {
            throw RelayError(.invalidRequest, error.message)
        }
    }

    /// Nothing on the way may hold the stream back, change or keep it.
    private static let streamFields: Fields = [
        .contentType: "text/event-stream", .cacheControl: "no-cache, no-transform", .xAccelBuffering: "no",
    ]
}
