import ChatterdBasics
import ChatterdChat
import ChatterdCryptography
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// Finds the place of a request of a door in the conversation of its identity: docs/doors.md, "Memory".
struct DoorMemory: Sendable {
    /// The size up to which a history is compared, in bytes.
    let limit: Int
    /// The fields, or members of the body, in which programs name their chats.
    let chatNames: [FieldName]

    /// The place of a request.
    struct Place {
        /// The conversation; `nil` for a stateless request.
        var conversation: ConversationKey?
        /// The reply whose prompt the request repeats, as the end of the same history; `nil` for any other request.
        var repeated: ReplyID?
        /// What the request is if the reply that it follows is removed meanwhile; `nil` if it names that reply or none.
        var beginning: Beginning?
    }

    /// A request as the first one of a conversation.
    struct Beginning {
        var conversation: ConversationKey
        var messages: [ModelMessage]
        var parent: String?
    }

    /// Finds the conversation of a request, and keeps what is new to it of the messages.
    ///
    /// - Throws: `forbidden`; `invalidRequest` for a name that no conversation has, and for one without an identity; `replyNotFound`;
    ///   `replyNotComplete`.
    func findPlace(of exchange: DoorExchange) async throws(RelayError) {
        switch try search(for: exchange) {
        case nil: break
        case .reply(let id): exchange.place.conversation = try await follow(id, exchange)
        case .branch(let conversation): try await compare(exchange, with: conversation)
        case .history(let owner): try await find(exchange, of: owner)
        }
        if exchange.asked.hasApprovals { try await findApprovals(of: exchange) }
    }

    /// Names the calls of the reply that the request follows by their ids there, if the request answers some that waited for an approval.
    private func findApprovals(of exchange: DoorExchange) async throws(RelayError) {
        guard let id = exchange.asked.chat.parent.flatMap({ ReplyID(parsing: $0) }),
            let conversation = exchange.place.conversation
        else { return }
        let chat = exchange.services.chat
        let calls = try await chat.readWhole(try await chat.find(id, of: conversation.owner)).toolCalls
        exchange.asked.nameResults(by: calls, of: id)
    }

    /// What is to be read for the place of a request.
    private enum Search {
        case reply(ReplyID)
        /// The present branch of a conversation that the request names.
        case branch(ConversationKey)
        /// The history that the request continues.
        case history(Owner)
    }

    /// Finds the conversation as far as the request itself says, and what is to be read for its place; `nil` for nothing.
    private func search(for exchange: DoorExchange) throws(RelayError) -> Search? {
        let (request, principal) = (exchange.request, exchange.principal)
        switch exchange.asked.continuation {
        case .reply(let id): return .reply(id)
        case .conversation(let name):
            let key = try conversation(of: request, principal, named: name, as: "conversation")
            if let key { exchange.responder.annotate(Annotation.appID, key.owner.app) }
            exchange.place.conversation = key
            return nil
        case nil:
            let name = request.fields[.xConversationID]
            guard exchange.asked.isRemembered,
                let named = try conversation(of: request, principal, named: name, as: "X-Conversation-ID")
            else { return nil }
            exchange.responder.annotate(Annotation.appID, named.owner.app)
            exchange.place.conversation = named
            if try Self.isAppended(request) { return nil }
            return name == nil && principal.conversations == nil ? .history(named.owner) : .branch(named)
        }
    }

    /// The reply to the request that a client repeats by itself because it got no answer, or an error that may pass: while that reply runs, and
    /// shortly after its end. `nil` for the first request, and if the earlier ones have no answer.
    ///
    /// The libraries of OpenAI and Anthropic count the repetitions in `X-Stainless-Retry-Count`, and send no idempotency key.
    func repeated(_ exchange: DoorExchange) async throws(RelayError) -> ReplyRecord? {
        let request = exchange.request
        guard let count = request.fields[.xStainlessRetryCount], exchange.asked.isRemembered,
            request.fields.values(of: .idempotencyKey).isEmpty, let owner = try exchange.principal.owner(of: request)
        else { return nil }
        return try await repeated(exchange, by: owner, count: count)
    }

    @inline(never)
    private func repeated(
        _ exchange: DoorExchange, by owner: Owner, count: String
    ) async throws(RelayError) -> ReplyRecord? {
        let (body, path) = (exchange.request.body.bytes, exchange.path)
        let digest = await LongWork.run(on: body.count) { HistoryDigest(ofRequest: body.span, to: path, by: owner) }
        exchange.asked.chat.digest = digest
        guard let number = Int(count), number > 0,
            let id = try await exchange.services.archive.reply(toRequest: digest)
        else { return nil }
        do throws(RelayError) {
            let reply = try await exchange.services.reply(
                id, exchange.request, exchange.principal, to: exchange.responder)
            return reply.state == nil || reply.state == .complete ? reply : nil
        } catch  where error.code == .replyNotFound {
            // It was removed meanwhile.
            return nil
        }
    }

    /// Whether the messages of a request follow the last turn, as `X-History` says.
    private static func isAppended(_ request: Request) throws(RelayError) -> Bool {
        switch request.fields[.xHistory] {
        case "append": true
        case nil, "compare": false
        default: throw RelayError(.invalidRequest, "X-History must be append or compare.")
        }
    }

    /// The first name of the chat by the program of a client that a conversation can have; `nil` for none.
    private func chatName(of asked: DoorRequest, _ request: Request) -> String? {
        for field in chatNames {
            let member = asked.chat.passThrough.last { FieldName($0.key) == field }
            guard let name = request.fields[field] ?? member.flatMap({ try? JSONSlice($0.value).string }) else {
                continue
            }
            let isPossible = (try? name.requireName("", upTo: ConversationKey.maximumNameLength)) != nil
            if isPossible, name != ".", name != ".." { return name }
        }
        return nil
    }

    /// Finds the conversation of a client that keeps its history and names no conversation: the one with the longest beginning of that
    /// history that ends with an answer. Otherwise the request begins a conversation, with the name of the chat if there is none with it.
    /// Chats with other names by the client's program have other histories.
    private func find(_ exchange: DoorExchange, of owner: Owner) async throws(RelayError) {
        let messages = exchange.asked.chat.messages
        // The name that the client's program has for the chat.
        let chat = chatName(of: exchange.asked, exchange.request)
        let (sent, members) = await LongWork.run(on: messages.size) {
            let sent = SentHistory(messages, of: owner, chat: chat)
            return (sent, sent.members(of: messages))
        }
        exchange.asked.chat.passThrough += members
        // A request with a key has the same place when it is repeated, whatever conversations there are by then.
        let name = exchange.key == nil ? chat : nil
        let found = try await exchange.services.archive.find(
            sent.ends.map(\.digest), of: owner, key: exchange.key, name: name)
        Self.place(exchange, at: found, ends: sent.ends, of: owner, name: name)
    }

    /// Gives a request its place.
    ///
    /// - Parameters:
    ///   - ends: the histories of which one may be stored.
    ///   - name: the name of a conversation that the request begins; `nil` for a random one.
    private static func place(
        _ exchange: DoorExchange, at found: FoundHistory?, ends: [SentHistory.End], of owner: Owner, name: String?
    ) {
        var beginning = beginning(with: exchange.asked.chat.messages, of: owner, key: exchange.key)
        // A title or a tag follows no answer.
        exchange.asked.chat.isSingle = ends.isEmpty
        switch found {
        case .stored(let conversation, let reply, let index) where conversation.owner == owner:
            exchange.asked.chat.messages.removeFirst(ends[index].count)
            exchange.asked.chat.parent = reply.description
            exchange.place = Place(conversation: conversation, beginning: beginning)
            return
        case .known(let conversation) where conversation.owner == owner: beginning.conversation = conversation
        case nil:
            // Another request of the chat may begin the conversation at the same time, and is a branch then.
            if let name {
                beginning.conversation = ConversationKey(owner, name: name)
                beginning.parent = "start"
                exchange.asked.chat.isSingle = false
            }
        case .known, .stored, .named: break
        }
        exchange.asked.chat.messages = beginning.messages
        exchange.asked.chat.parent = beginning.parent
        exchange.place = Place(conversation: beginning.conversation)
    }

    /// A conversation that a request begins. A repeated request with its key begins the same one.
    private static func beginning(
        with messages: [ModelMessage], of owner: Owner, key: IdempotencyKey?
    ) -> Beginning {
        guard let key else {
            return Beginning(
                conversation: ConversationKey(owner, name: ConversationKey.randomName()), messages: messages)
        }
        let number = SHA256Digest(of: key.text.utf8.span).first
        // The conversation of an expired key may have turns.
        return Beginning(
            conversation: ConversationKey(owner, name: ConversationKey.randomName(of: number)), messages: messages,
            parent: "start")
    }

    /// The conversation that a request names; `nil` for a request without an identity.
    ///
    /// - Throws: `forbidden`; `invalidRequest` for a name that no conversation has, and for one without an identity.
    private func conversation(
        of request: Request, _ principal: Principal, named name: String?, as noun: String
    ) throws(RelayError) -> ConversationKey? {
        guard let owner = try principal.owner(of: request) else {
            guard name == nil else {
                throw RelayError(.invalidRequest, "\(noun) needs an identity: send X-App-ID too, or a key of an app.")
            }
            return nil
        }
        try name?.requireName(noun, upTo: ConversationKey.maximumNameLength)
        let key = ConversationKey(owner, name: name)
        try principal.check(key)
        try key.requireNewName()
        return key
    }

    /// Has the messages of a request follow a reply: in its conversation, or as a stateless request with the history before it.
    private func follow(
        _ id: ReplyID, _ exchange: DoorExchange
    ) async throws(RelayError) -> ConversationKey? {
        let (request, principal, services) = (exchange.request, exchange.principal, exchange.services)
        let reply = try await services.reply(id, request, principal, to: exchange.responder)
        guard reply.state == nil || reply.state == .complete else {
            throw RelayError(
                .replyNotComplete,
                "The response \(id) is not complete, so nothing can follow it. Name the one before it.")
        }
        let asked = exchange.asked
        let size = asked.chat.messages.size
        if await LongWork.run(on: size, { asked.hasNamelessResults }) {
            let calls = try await services.chat.readWhole(reply).toolCalls
            exchange.asked = await LongWork.run(on: size + calls.count) {
                var named = asked
                named.nameResults(by: calls, of: id)
                return named
            }
        }
        let key = reply.turn.conversation
        guard asked.isRemembered else {
            let (rows, memory) = try await services.archive.branch(of: key, upTo: id, limit: limit)
            let history = await LongWork.run(on: rows.workSize) { rows.map { StoredMessage($0).message } }
            exchange.asked.chat.messages = history + exchange.asked.chat.messages
            request.body.keep(memory)
            guard exchange.asked.chat.messages.count <= ChatRequest.maximumMessages else {
                throw RelayError(
                    .historyTooLarge,
                    "The history has too many messages to be copied. Send store true, or only the input.")
            }
            return nil
        }
        // The conversation of a stateless request is removed soon, with all that follows.
        let owner = try principal.owner(of: request)
        guard !key.isStateless || owner == nil else {
            throw RelayError(
                .invalidRequest,
                "The response \(id) is not stored, so nothing that is stored can follow it. Send store false.")
        }
        if !key.isStateless { try principal.check(key) }
        exchange.asked.chat.parent = id.description
        return key
    }

    /// The stored reply to the prompt that a request repeats, if the request could have no other effect than another answer to that prompt.
    ///
    /// - Returns: `nil` if the request has other members for the model server, which a stored prompt cannot get, or an idempotency key.
    func reply(repeatedBy exchange: DoorExchange) async throws(RelayError) -> ReplyRecord? {
        let place = exchange.place
        guard let id = place.repeated, let conversation = place.conversation, exchange.key == nil else { return nil }
        let reply = try await exchange.services.chat.find(id, of: conversation.owner)
        let members = try await exchange.services.archive.members(of: reply)
        return members == exchange.asked.chat.passThrough ? reply : nil
    }

    /// Keeps the new messages of a request, and has them follow what is known of the conversation.
    private func compare(
        _ exchange: DoorExchange, with conversation: ConversationKey
    ) async throws(RelayError) {
        let (rows, memory) = try await exchange.services.archive.branch(of: conversation, limit: limit)
        let messages = exchange.asked.chat.messages
        let match = await LongWork.run(on: messages.size + rows.reduce(0) { $0 + $1.content.count + $1.extras.count }) {
            HistoryMatch(of: messages, in: rows.map(StoredMessage.init))
        }
        guard let match else {
            throw RelayError(
                .invalidRequest,
                "The conversation begins with other messages than the request. Name another one with X-Conversation-ID, or send only "
                    + "the new messages, with X-History: append.")
        }
        exchange.asked.chat.messages.removeFirst(match.firstNew)
        exchange.asked.chat.parent =
            switch match.parent {
            case .reply(let id): id.description
            case .start: "start"
            }
        memory.shrink(to: 0)
        exchange.place.repeated = match.repeated
    }
}

extension [ModelMessage] {
    /// The size of all messages, in bytes.
    fileprivate var size: Int { reduce(0) { $0 + $1.content.utf8.count + ($1.extras?.utf8.count ?? 0) } }
}

extension StoredMessage {
    /// The message of a row.
    fileprivate init(_ row: ConversationRow) {
        let place: Place =
            switch row.kind {
            case .reply(let reply): .reply(reply.id)
            case .prompt: .prompt
            case .message, .choice: .seeded
            }
        self.init(
            ModelMessage(
                role: String(decoding: row.role, as: UTF8.self), content: String(decoding: row.content, as: UTF8.self),
                extras: Self.extras(of: row)),
            place)
    }

    /// The further members of the message of a row, with the thoughts before calls, as a history from the store has them.
    private static func extras(of row: ConversationRow) -> String? {
        guard !row.extras.isEmpty else { return nil }
        var extras = ByteBuffer()
        extras.append(row.extras)
        if !row.thinking.isEmpty {
            extras.append(",\"thinking\":")
            extras.append(jsonString: String(decoding: row.thinking, as: UTF8.self))
        }
        return extras.string
    }
}
