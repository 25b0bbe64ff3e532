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
    func place(
        _ asked: inout DoorRequest, _ request: Request, _ principal: Principal, key: IdempotencyKey?,
        _ services: ShardServices, to responder: Responder
    ) async throws(RelayError) -> Place {
        switch asked.continuation {
        case .reply(let id):
            return Place(conversation: try await follow(id, &asked, request, principal, services, to: responder))
        case .conversation(let name):
            let key = try conversation(of: request, principal, named: name, as: "conversation")
            if let key { responder.annotate(Annotation.appID, key.owner.app) }
            return Place(conversation: key)
        case nil:
            let name = request.fields[.xConversationID]
            guard asked.isRemembered,
                let named = try conversation(of: request, principal, named: name, as: "X-Conversation-ID")
            else { return Place() }
            responder.annotate(Annotation.appID, named.owner.app)
            if try Self.isAppended(request) { return Place(conversation: named) }
            guard name == nil, principal.conversations == nil else {
                let repeated = try await place(&asked.chat, in: named, request, services.archive)
                return Place(conversation: named, repeated: repeated)
            }
            let chat = chatName(of: asked, request)
            return try await find(&asked, of: named.owner, chat: chat, key: key, services.archive)
        }
    }

    /// The reply to the request that a client repeats by itself because it got no answer, or an error that may pass: while that reply runs, and
    /// shortly after its end. `nil` for the first request, and if the earlier ones have no answer.
    ///
    /// The libraries of OpenAI and Anthropic count the repetitions in `X-Stainless-Retry-Count`, and send no idempotency key.
    ///
    /// - Parameter path: the path of the endpoint.
    func repeated(
        _ asked: inout DoorRequest, _ request: Request, _ principal: Principal, at path: String,
        _ services: ShardServices,
        to responder: Responder
    ) async throws(RelayError) -> ReplyRecord? {
        guard let count = request.fields[.xStainlessRetryCount], asked.isRemembered,
            request.fields.values(of: .idempotencyKey).isEmpty, let owner = try principal.owner(of: request)
        else { return nil }
        let body = request.body.bytes
        let digest = await LongWork.run(on: body.count) { HistoryDigest(ofRequest: body.span, to: path, by: owner) }
        asked.chat.digest = digest
        guard let number = Int(count), number > 0, let id = try await services.archive.reply(toRequest: digest) else {
            return nil
        }
        do throws(RelayError) {
            let reply = try await services.reply(id, request, principal, to: responder)
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
    ///
    /// - Parameter chat: the name that the client's program has for the chat; `nil` for none. Chats with other names have other histories.
    private func find(
        _ asked: inout DoorRequest, of owner: Owner, chat: String?, key: IdempotencyKey?, _ archive: ConversationArchive
    ) async throws(RelayError) -> Place {
        let messages = asked.chat.messages
        let sent = await LongWork.run(on: messages.size) { SentHistory(messages, of: owner, chat: chat) }
        asked.system = sent.instructions.map { messages.prefix($0).map(\.content).joined(separator: "\n\n") }
        asked.history = sent.digest
        var beginning = Self.beginning(with: messages, of: owner, key: key)
        // A request with a key has the same place when it is repeated, whatever conversations there are by then.
        let name = key == nil ? chat : nil
        // A title or a tag follows no answer.
        asked.chat.isSingle = sent.ends.isEmpty
        switch try await archive.find(sent.ends.map(\.digest), of: owner, key: key, name: name) {
        case .stored(let conversation, let reply, let index) where conversation.owner == owner:
            asked.chat.messages.removeFirst(sent.ends[index].count)
            asked.chat.parent = reply.description
            return Place(conversation: conversation, beginning: beginning)
        case .known(let conversation) where conversation.owner == owner: beginning.conversation = conversation
        case nil:
            // Another request of the chat may begin the conversation at the same time, and is a branch then.
            if let name {
                beginning.conversation = ConversationKey(owner, name: name)
                beginning.parent = "start"
                asked.chat.isSingle = false
            }
        case .known, .stored, .named: break
        }
        asked.chat.messages = beginning.messages
        asked.chat.parent = beginning.parent
        return Place(conversation: beginning.conversation)
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
        _ id: ReplyID, _ asked: inout DoorRequest, _ request: Request, _ principal: Principal,
        _ services: ShardServices,
        to responder: Responder
    ) async throws(RelayError) -> ConversationKey? {
        let reply = try await services.reply(id, request, principal, to: responder)
        guard reply.state == nil || reply.state == .complete else {
            throw RelayError(
                .replyNotComplete,
                "The response \(id) is not complete, so nothing can follow it. Name the one before it.")
        }
        let size = asked.chat.messages.size
        if await LongWork.run(on: size, { [asked] in asked.hasNamelessResults }) {
            let calls = try await services.chat.readWhole(reply).toolCalls
            asked = await LongWork.run(on: size + calls.count) { [asked] in
                var named = asked
                named.nameResults(by: calls, of: id)
                return named
            }
        }
        let key = reply.turn.conversation
        guard asked.isRemembered else {
            let (rows, memory) = try await services.archive.branch(of: key, upTo: id, limit: limit)
            asked.chat.messages =
                await LongWork.run(on: rows.workSize) { rows.map { StoredMessage($0).message } }
                + asked.chat.messages
            request.body.keep(memory)
            guard asked.chat.messages.count <= ChatRequest.maximumMessages else {
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
        asked.chat.parent = id.description
        return key
    }

    /// The stored reply to the prompt that a request repeats, if the request could have no other effect than another answer to that prompt.
    ///
    /// - Returns: `nil` if the request has other members for the model server, which a stored prompt cannot get, or an idempotency key.
    func reply(
        repeatedBy asked: DoorRequest, at place: Place, key: IdempotencyKey?, _ services: ShardServices
    ) async throws(RelayError) -> ReplyRecord? {
        guard let id = place.repeated, let conversation = place.conversation, key == nil else { return nil }
        let reply = try await services.chat.find(id, of: conversation.owner)
        return try await services.archive.members(of: reply) == asked.chat.passThrough ? reply : nil
    }

    /// Keeps the new messages of a request, and has them follow what is known of the conversation.
    ///
    /// - Returns: the reply whose prompt the request repeats.
    private func place(
        _ chat: inout ChatRequest, in conversation: ConversationKey, _ request: Request, _ archive: ConversationArchive
    ) async throws(RelayError) -> ReplyID? {
        let (rows, memory) = try await archive.branch(of: conversation, limit: limit)
        let messages = chat.messages
        let match = await LongWork.run(on: messages.size + rows.reduce(0) { $0 + $1.content.count + $1.extras.count }) {
            HistoryMatch(of: messages, in: rows.map(StoredMessage.init))
        }
        guard let match else {
            throw RelayError(
                .invalidRequest,
                "The conversation begins with other messages than the request. Name another one with X-Conversation-ID, or send only "
                    + "the new messages, with X-History: append.")
        }
        chat.messages.removeFirst(match.firstNew)
        chat.parent =
            switch match.parent {
            case .reply(let id): id.description
            case .start: "start"
            }
        memory.shrink(to: 0)
        return match.repeated
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
