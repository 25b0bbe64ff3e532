import ChatterdBasics
import ChatterdChat
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdRelay
import ChatterdSockets
import ChatterdTools

/// A request of a door on its way to its answer. Confined to its shard.
///
/// An object, because the frames of asynchronous functions have room for each copy of a value: copies took 18 KB of a request's 124 KB.
final class DoorExchange {
    var asked: DoorRequest
    let request: Request
    let responder: Responder
    let principal: Principal
    let services: ShardServices
    /// The path of the endpoint.
    let path: String
    private let translator: any ChatTranslator
    private(set) var key: IdempotencyKey?
    /// The place of the request; that of a stateless one until another place is found.
    var place = DoorMemory.Place()
    /// What is kept with the request for its answers; `nil` if nothing is.
    private(set) var kept: [UInt8]?

    init(
        _ asked: DoorRequest, _ request: Request, _ responder: Responder, _ principal: Principal,
        _ translator: any ChatTranslator, at path: String, _ services: ShardServices
    ) {
        self.asked = asked
        self.request = request
        self.responder = responder
        self.principal = principal
        self.translator = translator
        self.path = path
        self.services = services
    }

    /// Checks the model, and reads what the fields of the request say besides its body.
    func readFields() throws(RelayError) {
        try principal.check(model: asked.chat.model)
        asked.chat.onDisconnect = asked.isBackground ? .finish : try request.disconnectPolicy(unless: nil)
        key = try request.idempotencyKey()
    }

    /// Stores with the request what its answers repeat.
    func keep() {
        kept = asked.keep(createdAt: Int(WallClock.nanoseconds() / 1_000_000_000))
    }

    /// Commits the prompt at its place.
    func accept() async throws(RelayError) -> AcceptedPrompt {
        let conversation =
            if let known = place.conversation { known } else { try statelessConversation() }
        try offerTools(to: conversation.owner.app)
        return try await services.chat.accept(asked.chat, in: conversation, key: key, meter: principal.meter)
    }

    /// Offers the tools of the servers that the request names to the model.
    ///
    /// - Throws: `invalidRequest` for a server that the operator has not declared.
    private func offerTools(to app: String) throws(RelayError) {
        var offers: [(label: String, tools: [ServerTool], isAsked: (String) -> Bool)] = []
        for server in asked.toolServers {
            guard let tools = services.tools.offers(to: app, of: server.label, at: server.url, only: server.tools)
            else {
                throw server.unknown
            }
            guard !tools.isEmpty else { throw server.empty }
            offers.append((server.label, tools, server.isAsked))
        }
        asked.chat.offer(offers)
        try asked.approveCalls()
    }

    private func statelessConversation() throws(RelayError) -> ConversationKey {
        .stateless(of: try principal.owner(of: request), named: request.statelessName(key: key))
    }

    /// The form of the answer.
    var form: AnswerForm {
        var form = AnswerForm(translator, isStreamed: asked.chat.stream)
        (form.model, form.includesUsage, form.kept) = (asked.chat.model, asked.includesUsage, kept)
        form.ignored = asked.ignored.text
        form.estimatedTokens = asked.estimatedTokens
        form.conversation = place.conversation.flatMap { $0.isStateless ? nil : $0.name }
        form.isBackground = asked.isBackground
        if !asked.toolServers.isEmpty { form.servers = ResponseServers(of: asked.chat.passThrough) }
        return form
    }
}

extension Request {
    /// The name of the conversation of a request without an identity: the same for the same idempotency key, otherwise random.
    fileprivate func statelessName(key: IdempotencyKey?) -> String {
        guard let key else {
            return ConversationKey.randomName() + ConversationKey.randomName()
        }
        return "key " + key.text
    }
}
