import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdTracing

/// Accepting prompts, and adopting turns of other processes.
extension ChatService {
    /// Commits a prompt.
    ///
    /// - Parameter meter: what the request counts against; a known key counts once.
    /// - Returns: the reply, which the caller runs; or the known reply of the idempotency key.
    /// - Throws: `promptRefused` and `hookFailed` of the hooks; `rateLimited`, `overloaded`, `shuttingDown`, `storeUnavailable`; `invalidRequest` and `replyNotFound` for a wrong
    ///   parent; `idempotencyKeyReused`; `conversationBusy`; `modelNotFound` and `unavailable` if no model server can be asked. The
    ///   store is unchanged then.
    public func accept(
        _ request: ChatRequest, in conversation: ConversationKey, key: IdempotencyKey? = nil, meter: Meter? = nil
    ) async throws(RelayError) -> AcceptedPrompt {
        try refuseWhenStopping()
        let acceptedAt = scheduler.now()
        if limits.checksForms, let form = AnswerForm(request.passThrough) { try await validate(form) }
        var request = request
        var opening = try opening(of: request, in: conversation, key: key, meter: meter)
        let reservation: PromptReservation
        do throws(RelayError) {
            reservation = try await reserve(in: opening.conversation, model: request.model, key: key?.text)
        } catch {
            // A retry with a known key opens no turn, so it needs no reservation.
            guard let key, let known = try await store.knownReply(in: opening.conversation, key: key) else {
                throw error
            }
            return .known(try await find(known))
        }
        if let hooks, hooks.reviewsPrompts(of: conversation.owner.app) {
            do throws(RelayError) {
                // A prompt that is stored was reviewed before.
                if let key, let known = try await store.knownReply(in: opening.conversation, key: key) {
                    let prompt = AcceptedPrompt.known(try await find(known))
                    cancel(reservation)
                    return prompt
                }
                request.messages = try await hooks.review(request, in: conversation)
            } catch {
                cancel(reservation)
                throw error
            }
            opening.prompts = request.messages
        }
        do throws(RelayError) {
            switch try await open(opening) {
            case .opened(let turn, let history, let quota):
                return .started(begin(turn, with: history, quota, of: opening, for: request, at: acceptedAt))
            case .known(let id):
                let prompt = try await existingPrompt(id)
                cancel(reservation)
                return prompt
            }
        } catch {
            abandon(reservation, of: opening.id, onDisconnect: request.onDisconnect, after: error)
            throw error
        }
    }

    /// Refuses a schema that cannot be read.
    private func validate(_ form: AnswerForm) async throws(RelayError) {
        let result = await scheduler.work(form.size) { Result { () throws(RelayError) in try form.validate() } }
        try result.get()
    }

    /// The number of attempts to open a turn whose conversation is busy only with replies of dead processes.
    private static let openings = 3

    /// Opens a turn. A running reply of a dead process is settled, and does not make the conversation busy.
    private func open(_ opening: NewTurn) async throws(RelayError) -> OpeningOutcome {
        var left = Self.openings
        while true {
            left -= 1
            do throws(RelayError) {
                return try await store.openTurn(opening)
            } catch  where error.code == .conversationBusy && left > 0 {
                guard await isOver(error.reply) else { throw error }
            }
        }
    }

    /// Whether a reply that made a conversation busy is over now. That of a dead process is settled.
    public func isOver(_ reply: ReplyID?) async -> Bool {
        guard let reply else { return false }
        guard let found = try? await find(reply) else { return true }
        return found.state != nil
    }

    /// Makes the opening of a turn.
    @inline(never)
    private func opening(
        of request: ChatRequest, in conversation: ConversationKey, key: IdempotencyKey?, meter: Meter?
    ) throws(RelayError) -> NewTurn {
        var opening = NewTurn(
            conversation: conversation, prompts: request.messages, id: makeID(Partition(of: conversation.owner)),
            model: request.model,
            options: Self.text(of: request.storedMembers), parent: try Self.parent(request.parent), key: key,
            onInterrupt: request.onInterrupt ?? .close, whenBusy: request.whenBusy, meter: meter,
            reach: context.reach(of: request.model, passThrough: request.passThrough, in: conversation))
        opening.isSingle = request.isSingle
        opening.digest = request.digest
        opening.newTools = request.newTools
        return opening
    }

    /// The request with the tools that its conversation keeps, if it has none of its own.
    ///
    /// The turn stores them as well, so that another answer to its prompt, and a process that adopts it, have the same tools.
    public func addKeptTools(
        to request: ChatRequest, in conversation: ConversationKey
    ) async throws(RelayError) -> ChatRequest {
        guard request.newTools == nil else { return request }
        try refuseWhenStopping()
        let tools = try await store.tools(of: conversation)
        // A row that was changed by hand may have another text.
        guard (try? JSONSlice(tools))?.kind == .array else { return request }
        var request = request
        request.add(tools: tools)
        return request
    }

    /// Begins the reply of an opened turn.
    @inline(never)
    private func begin(
        _ turn: Turn, with history: TurnHistory, _ quota: Quota?, of opening: NewTurn, for request: ChatRequest,
        at acceptedAt: Instant
    ) -> Reply {
        board.open(turn, for: opening.id, key: opening.key?.text)
        if opening.whenBusy == .stop || opening.whenBusy == .replace { stopEarlier(than: turn) }
        var opened = OpenTurn(
            turn: turn, id: opening.id, model: request.model, options: [], attempt: 1, history: history)
        opened.quota = quota
        return begin(
            opened, as: .prompt, passThrough: request.passThrough, onDisconnect: policy(request.onDisconnect),
            acceptedAt: acceptedAt, trace: request.trace.map(ReplyTrace.init(of:)))
    }

    /// Stops the earlier replies of a conversation that this process generates. The store has signalled all others.
    private func stopEarlier(than turn: Turn) {
        for id in board.replies(before: turn) {
            directory[id]?.run { $0.reply(id)?.cancel(.stopped) }
        }
    }

    /// The prompt that the store knows by its key: accepted earlier, or opened without confirmation.
    private func existingPrompt(_ id: ReplyID) async throws(RelayError) -> AcceptedPrompt {
        if let reply = try await resolveUnconfirmed(id) { return .started(reply) }
        return .known(try await find(id))
    }

    /// Starts another answer to the prompt of a reply. The old answer is kept.
    ///
    /// - Parameters:
    ///   - model: the requested model; `nil` for the same one.
    ///   - onInterrupt: the treatment of the answer if its process dies; `nil` for that of the old answer.
    ///   - trace: the span of the request.
    /// - Throws: the errors of `accept`. The store is unchanged then.
    public func regenerate(
        _ reply: ReplyRecord, model: String?, onDisconnect: DisconnectPolicy?, onInterrupt: InterruptPolicy?,
        meter: Meter? = nil, trace: TraceContext? = nil
    ) async throws(RelayError) -> Reply {
        try refuseWhenStopping()
        let acceptedAt = scheduler.now()
        let reservation = try await reserve(in: reply.turn.conversation, model: model ?? reply.model)
        let id = makeID(Partition(of: reply.turn.conversation.owner))
        do throws(RelayError) {
            let turn = try await store.openAlternative(
                to: reply, as: id, model: model, onInterrupt: onInterrupt,
                // The members of the request are in the store. They may enlarge the window; then the reply reads the history again.
                reach: context.reach(of: model ?? reply.model, passThrough: [], in: reply.turn.conversation),
                meter: meter)
            board.open(turn.turn, for: turn.id)
            return begin(
                turn, as: .another, passThrough: Self.members(of: turn), onDisconnect: policy(onDisconnect),
                acceptedAt: acceptedAt, trace: trace.map(ReplyTrace.init(of:)))
        } catch {
            abandon(reservation, of: id, onDisconnect: onDisconnect, after: error)
            throw error
        }
    }

    /// The maximum number of replies that one call adopts.
    private static let adoptions = 16

    /// Adopts up to 16 replies that other processes have handed over, or that dead processes have left and that must be regenerated.
    public func adoptAbandoned() async throws(RelayError) {
        let limit = min(Self.adoptions, limits.maximumReplies - board.count)
        guard !isStopping, limit > 0 else { return }
        var claimed: [ReplyID: Turn] = [:]
        // Close claimed turns that were never started; otherwise they look alive.
        defer {
            for (id, turn) in claimed {
                board.close(turn, for: id)
            }
        }
        let adopted = try await store.adoptAbandoned(limit: limit, except: board.replies) { turn, id in
            board.adopt(turn, for: id)
            claimed[id] = turn
        }
        for turn in adopted {
            claimed[turn.id] = nil
            let members = Self.members(of: turn)
            let reply = begin(
                turn, as: .adopted, passThrough: members, onDisconnect: .finish,
                trace: storedTrace(of: members, as: .adopted))
            scheduler.spawn(with: reply) { await $0.begin() }
        }
    }

    /// The trace of a reply whose turn was read from the store; `nil` without tracing, or if its request had none.
    func storedTrace(of members: [RawMember], as origin: ReplyEvent.Origin) -> ReplyTrace? {
        guard let makeTraceID, let request = members.trace else { return nil }
        return origin == .adopted ? ReplyTrace(adopting: request, as: makeTraceID()) : ReplyTrace(of: request)
    }

    private func policy(_ requested: DisconnectPolicy?) -> DisconnectPolicy {
        requested ?? .cancel(after: limits.disconnectGrace)
    }

    private static func parent(_ text: String?) throws(RelayError) -> TurnParent? {
        guard let text else { return nil }
        guard let parent = TurnParent(parsing: text) else {
            throw RelayError(.invalidRequest, "parent must be the id of a reply, or \"start\".")
        }
        return parent
    }

    private static func text(of members: [RawMember]) -> [UInt8] {
        var text = ByteBuffer()
        text.append(members)
        return text.array
    }

    /// The stored members of the request; empty if the stored text is not JSON.
    static func members(of turn: OpenTurn) -> [RawMember] {
        (try? [RawMember](decodingMembers: turn.options)) ?? []
    }

    // MARK: - Reservations

    /// Reserves a turn of the conversation and the admission to a model server.
    ///
    /// - Throws: `overloaded`, `modelNotFound`, `unavailable`. No reservation remains then.
    private func reserve(
        in conversation: ConversationKey, model: String, key: String? = nil
    ) async throws(RelayError) -> PromptReservation {
        let admission = try await reserveAdmission(for: model)
        do throws(RelayError) {
            try board.reserveTurn(in: conversation, key: key)
        } catch {
            release(admission)
            throw error
        }
        return PromptReservation(conversation: conversation, key: key, admission: admission)
    }

    private func cancel(_ reservation: PromptReservation) {
        board.cancelReservation(in: reservation.conversation, key: reservation.key)
        release(reservation.admission)
    }

    /// Cancels the reservation of a turn that was not opened. If the outcome is unknown, the turn is looked up later.
    private func abandon(
        _ reservation: PromptReservation, of id: ReplyID, onDisconnect: DisconnectPolicy?, after error: RelayError
    ) {
        if error.isOutcomeUnknown {
            note(
                unconfirmed: id, in: reservation.conversation, hasKey: reservation.key != nil,
                onDisconnect: onDisconnect)
        }
        cancel(reservation)
    }

    private func release(_ admission: UpstreamDescription?) {
        if let admission { slots?.releaseAdmission(at: admission) }
    }

    /// Throws if no model server is configured for the model, or if the queues of all its servers are full.
    ///
    /// - Returns: the server whose queue counts the prompt, if that has one.
    private func reserveAdmission(for model: String) async throws(RelayError) -> UpstreamDescription? {
        if upstreams.depends(onListsFor: model) {
            await upstreams.prepare(for: model)
        }
        if let refusal = upstreams.refusalOfRequest(for: model) { throw RelayError(refusal) }
        let targets = upstreams.targets(for: model)
        guard let slots else { return nil }
        var refusal: RelayError?
        for target in targets {
            let description = target.upstream.description
            guard description.slots != nil else { return nil }
            do throws(RelayError) {
                try await slots.reserveAdmission(at: description, on: scheduler)
                return description
            } catch {
                refusal = refusal ?? error
            }
        }
        if let refusal { throw refusal }
        return nil
    }
}

/// The reservations of a prompt until its turn is opened: a turn of its conversation, and an admission to a model server.
struct PromptReservation {
    var conversation: ConversationKey
    /// The idempotency key that the prompt reserves.
    var key: String?
    /// The server whose queue counts the prompt; `nil` if none does.
    var admission: UpstreamDescription?
}

/// The result of accepting a prompt.
public enum AcceptedPrompt {
    /// The prompt is committed. The caller runs the reply.
    case started(Reply)
    /// The same request was accepted before.
    case known(ReplyRecord)
}
