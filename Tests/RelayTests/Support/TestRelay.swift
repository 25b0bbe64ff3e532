import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdRelay
import Testing

/// The relay of one shard, with a store and a model that the test controls.
final class TestRelay {
    let clock: ManualClock
    let shard: ManualShard
    let store: MemoryStore
    let model = ScriptedModel()
    /// The tools of the server.
    let tools: ScriptedTools
    /// The hooks of the operator.
    let hooks: ScriptedHooks?
    let board: TurnBoard
    let service: ChatService
    let directory: ReplyDirectory
    /// What the service reports for the metrics and the log.
    let observed = ObservedEvents()
    private(set) var journal: Journal?
    private let subscriptions = Subscriptions()
    private let limits: RelayLimits

    /// Creates a process with one shard. By default each flush of the journal looks up the owners of its replies.
    convenience init(
        _ limits: RelayLimits = RelayLimits(), failovers: Int = 0, rescues: Int = 0,
        restartWait: Duration = .zero, ownerCheckInterval: Duration = .zero, slots: MemorySlots? = nil,
        database: MemoryDatabase = MemoryDatabase(), tools: ScriptedTools = ScriptedTools(),
        hooks: ScriptedHooks? = nil
    ) {
        var limits = limits
        limits.failoverAttempts = failovers
        limits.rescueAttempts = rescues
        limits.restartWait = restartWait
        limits.ownerCheckInterval = ownerCheckInterval
        self.init(
            limits, clock: ManualClock(), store: MemoryStore(database, process: 1), board: TurnBoard(limits: limits),
            directory: ReplyDirectory(), tools: tools, hooks: hooks, slots: slots)
    }

    private init(
        _ limits: RelayLimits, clock: ManualClock, store: MemoryStore, board: TurnBoard, directory: ReplyDirectory,
        tools: ScriptedTools, hooks: ScriptedHooks? = nil, slots: MemorySlots? = nil
    ) {
        self.tools = tools
        self.hooks = hooks
        self.limits = limits
        self.clock = clock
        self.store = store
        self.board = board
        self.directory = directory
        shard = clock.makeShard()
        service = ChatService(
            store: store,
            upstreams: UpstreamDirectory([
                Upstream(UpstreamDescription(name: "test", kind: .openai), model: model, health: UpstreamHealth())
            ]),
            slots: slots.map {
                // Process 1 is the first one of the SlotCluster.
                SlotQueue(
                    store: MemorySlotStore($0, process: 2), limits: limits,
                    scheduler: clock.scheduler(of: clock.makeShard()))
            },
            limits: limits,
            board: board, directory: directory, scheduler: clock.scheduler(of: shard), tools: tools, hooks: hooks,
            makeID: {
                var generator = SystemRandomNumberGenerator()
                return ReplyID(in: $0, using: &generator)
            }, observe: { [observed] in observed.note($0) })
    }

    /// Another shard of the same process.
    func otherShard() -> TestRelay {
        TestRelay(
            limits, clock: clock, store: MemoryStore(store.database, process: store.process), board: board,
            directory: directory, tools: tools)
    }

    /// Another process on the same database.
    func otherProcess() -> TestRelay {
        TestRelay(
            limits, clock: clock, store: MemoryStore(store.database, process: store.process + 1),
            board: TurnBoard(limits: limits), directory: ReplyDirectory(), tools: tools.ofAnotherProcess())
    }

    /// Starts the journal of this shard and the given ones.
    func startJournal(_ shards: TestRelay...) {
        let services = [service] + shards.map(\.service)
        journal = Journal(services: services, tick: limits.journalTick)
        for service in services {
            service.journal = journal
        }
    }

    var database: MemoryDatabase { store.database }

    /// Runs work with the service on its shard, and everything that follows from it.
    func run(_ work: @escaping @Sendable (ChatService) async -> Void) {
        Task(executorPreference: shard) { [service = Confined(service, to: clock.scheduler(of: shard))] in
            await work(service.value)
        }
        clock.settle()
    }

    /// Sends a prompt, and runs its reply until it waits.
    @discardableResult
    func post(
        _ texts: String..., appID: String = "app", onDisconnect: DisconnectPolicy? = nil,
        onInterrupt: InterruptPolicy = .close, key: String? = nil, format: String? = nil, tools: String? = nil,
        offering names: [String] = [], asking asked: [String] = [], approving approved: [String] = [],
        atMost calls: Int? = nil, followingSteps: Bool = false
    ) -> SentPrompt {
        var request = ChatRequest(
            appID: appID, model: "m", messages: texts.map { ModelMessage(role: "user", content: $0) })
        request.onDisconnect = onDisconnect
        request.onInterrupt = onInterrupt
        for case let (name, value?) in [("format", format), ("tools", tools)] {
            request.passThrough.append(RawMember(key: name, value: Array(value.utf8)))
        }
        let offered = names.map {
            ServerTool(
                name: $0, json: Array(#"{"type":"function","function":{"name":"\#($0)"}}"#.utf8), nameOnServer: $0)
        }
        if asked.isEmpty { request.offer(offered) } else { request.offer([("s", offered, { asked.contains($0) })]) }
        if !approved.isEmpty {
            let calls = approved.map { Array(#"{"id":"mcpr_0","function":{"name":"\#($0)","arguments":{}}}"#.utf8) }
            request.passThrough.append(RawMember(approved: calls))
        }
        if let calls {
            request.passThrough.append(RawMember(kept: Array(#"{"max_tool_calls":\#(calls)}"#.utf8)))
        }
        let prompt = request
        let post = SentPrompt(RecordingReader(followingSteps: followingSteps))
        run { service in
            do throws(RelayError) {
                let key = key.map { IdempotencyKey(text: $0, digest: []) }
                let reply: Reply
                switch try await service.accept(prompt, in: ConversationKey(parsing: prompt.appID ?? ""), key: key) {
                case .started(let started): reply = started
                case .known(let record):
                    post.id = record.id
                    post.subscription = service.subscribe(post.reader, to: record, from: ReplyPosition())
                    return
                }
                post.id = reply.id
                post.subscription = reply.subscribe(post.reader)
                post.reply = reply
                await reply.begin()
            } catch {
                post.refusal = error
            }
        }
        return post
    }

    /// Subscribes another reader to the reply of a prompt, from its start, and runs `next` before any other shard runs.
    func read(
        _ post: SentPrompt, followingSteps: Bool = false, andThen next: @escaping @Sendable () -> Void = {}
    ) throws -> RecordingReader {
        let id = try #require(post.id)
        let reader = RecordingReader(followingSteps: followingSteps)
        let subscriptions = subscriptions
        run { service in
            guard let record = try? await service.find(id) else { return }
            subscriptions.byReader[ObjectIdentifier(reader)] = service.subscribe(
                reader, to: record, from: ReplyPosition())
            next()
        }
        return reader
    }

    /// Reads the whole reply of a prompt.
    func readWhole(_ post: SentPrompt) throws -> ReplyPage {
        let id = try #require(post.id)
        let found = Found()
        run { service in
            guard let record = try? await service.find(id) else { return }
            found.page = try? await service.readWhole(record)
        }
        return try #require(found.page)
    }

    /// The subscription of a reader that `read` has returned.
    func subscription(of reader: RecordingReader) -> ReplySubscription? {
        subscriptions.byReader[ObjectIdentifier(reader)]
    }

    /// Stops the reply of a prompt. The result has the record as soon as the call has returned.
    func stop(_ post: SentPrompt) -> Stopped {
        let stopped = Stopped()
        run { service in
            guard let id = post.id, let record = try? await service.find(id) else { return }
            stopped.record = try? await service.stop(record)
        }
        return stopped
    }

    /// Answers a call of a reply that waits for an approval.
    ///
    /// - Returns: the code of the refusal; `nil` if the answer counts.
    @discardableResult
    func answer(
        _ post: SentPrompt, _ answer: CallApprovals.Answer, round: Int = 0, index: Int = 0
    ) -> RelayError.Code? {
        let answered = Answered()
        run { service in
            do throws(RelayError) {
                guard let id = post.id else { return }
                let record = try await service.find(id)
                try await service.answer(answer, to: StepPlace(round: round, index: index), of: record)
            } catch {
                answered.code = error.code
            }
        }
        return answered.code
    }

    /// Adopts replies of other processes.
    func adopt() {
        run { service in try? await service.adoptAbandoned() }
    }

    /// The journalled text of a reply.
    func journalled(_ post: SentPrompt) -> String? {
        post.id.flatMap { database.replies[$0] }.map {
            String(decoding: ($0.saved.end.total > $0.page.end.total ? $0.saved : $0.page).text, as: UTF8.self)
        }
    }

    /// Deletes the conversation.
    func delete() {
        run { service in try? await service.deleteConversation(ConversationKey(Owner(app: "app"))) }
    }

    /// Replaces the conversation.
    @discardableResult
    func replace(with text: String) -> SentPrompt {
        let messages = [ModelMessage(role: "system", content: text)]
        let post = SentPrompt()
        run { service in
            do throws(RelayError) {
                try await service.replaceConversation(ConversationKey(Owner(app: "app")), with: messages)
                post.isReplaced = true
            } catch {
                post.refusal = error
            }
        }
        return post
    }

    /// An answer of the model; without an index, the last one.
    func answer(_ index: Int? = nil) throws -> ScriptedGeneration {
        let all = model.generations
        guard let index = index ?? all.indices.last, all.indices.contains(index) else { throw NoAnswer() }
        return all[index]
    }

    /// Sends a text as the last answer, and completes it.
    func complete(_ text: String) throws {
        let answer = try answer()
        answer.send(text)
        answer.finish()
        clock.settle()
    }
}

struct NoAnswer: Error {}

/// The result of a stop.
final class Stopped: @unchecked Sendable {
    fileprivate(set) var record: ReplyRecord?
}

private final class Answered: @unchecked Sendable {
    var code: RelayError.Code?
}

private final class Found: @unchecked Sendable {
    var page: ReplyPage?
}

private final class Subscriptions: @unchecked Sendable {
    var byReader: [ObjectIdentifier: ReplySubscription] = [:]
}

/// A prompt that was sent to the relay, with its reader.
final class SentPrompt: @unchecked Sendable {
    let reader: RecordingReader
    fileprivate(set) var id: ReplyID?
    /// The reply; `nil` when it is released.
    fileprivate(set) weak var reply: Reply?
    fileprivate(set) var subscription: ReplySubscription?
    fileprivate(set) var refusal: RelayError?
    fileprivate var isReplaced = false

    init(_ reader: RecordingReader = RecordingReader()) {
        self.reader = reader
    }

    /// Whether the reply has ended and is released.
    var isOver: Bool { isReplaced || id != nil && reply == nil }

    /// The code of the single error that the reader has got.
    var code: RelayError.Code? { reader.ends.count == 1 ? reader.ends[0]?.code : nil }
    /// The code of an error that is no end of the reply. A stream would have sent it without an id.
    var interimError: RelayError.Code? { reader.endings.isEmpty ? code : nil }
    /// The state and the code of the single end that the reader got.
    var ending: String? { reader.ending }
    /// Whether the reader has got a single end, of a complete answer.
    var isComplete: Bool { reader.ends.count == 1 && reader.ends[0] == nil && reader.isDone }
}
