import ChatterdLanguageModels
import ChatterdRelay
import Testing

/// The relay of one shard, over a store and a model that the test holds in its hands.
final class TestRelay {
    let clock: HandClock
    let shard: HandShard
    let store: MemoryStore
    let model = ScriptedModel()
    let board: TurnBoard
    let service: ChatService
    let directory: ReplyDirectory
    private(set) var journal: Journal?
    private let subscriptions = Subscriptions()
    private let limits: RelayLimits

    /// Makes a process with one shard; what fails is tried again as often as said.
    convenience init(
        _ limits: RelayLimits = RelayLimits(), failovers: Int = 0, rescues: Int = 0,
        restartWait: Duration = .zero, slots: MemorySlots? = nil,
        database: MemoryDatabase = MemoryDatabase()
    ) {
        var limits = limits
        limits.failoverAttempts = failovers
        limits.rescueAttempts = rescues
        limits.restartWait = restartWait
        self.init(
            limits, clock: HandClock(), store: MemoryStore(database, process: 1), board: TurnBoard(limits: limits),
            directory: ReplyDirectory(), slots: slots)
    }

    private init(
        _ limits: RelayLimits, clock: HandClock, store: MemoryStore, board: TurnBoard, directory: ReplyDirectory,
        slots: MemorySlots? = nil
    ) {
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
                // The process that is asked first is the hall's own.
                SlotQueue(
                    store: MemorySlotStore($0, process: 2), limits: limits,
                    scheduler: clock.scheduler(of: clock.makeShard()))
            },
            limits: limits,
            board: board, directory: directory, scheduler: clock.scheduler(of: shard),
            makeID: {
                var generator = SystemRandomNumberGenerator()
                return ReplyID(using: &generator)
            })
    }

    /// Another shard of the same process.
    func sibling() -> TestRelay {
        TestRelay(
            limits, clock: clock, store: MemoryStore(store.database, process: store.process), board: board,
            directory: directory)
    }

    /// A process of its own on the same database.
    func stranger() -> TestRelay {
        TestRelay(
            limits, clock: clock, store: MemoryStore(store.database, process: store.process + 1),
            board: TurnBoard(limits: limits), directory: ReplyDirectory())
    }

    /// Begins to journal what the shards given make.
    func startJournal(_ shards: TestRelay...) {
        let services = [service] + shards.map(\.service)
        journal = Journal(services: services, tick: limits.journalTick)
        for service in services {
            service.journal = journal
        }
    }

    var database: MemoryDatabase { store.database }

    /// Sends a prompt, and runs it as far as it goes.
    @discardableResult
    func post(
        _ texts: String..., appID: String = "app", onDisconnect: DisconnectPolicy? = nil,
        onInterrupt: InterruptPolicy = .close, key: String? = nil
    ) -> Post {
        var request = ChatRequest(
            appID: appID, model: "m", messages: texts.map { ModelMessage(role: "user", content: $0) })
        request.onDisconnect = onDisconnect
        request.onInterrupt = onInterrupt
        let post = Post()
        Task(executorPreference: shard) { [service, request] in
            do throws(RelayError) {
                let key = key.map { IdempotencyKey(text: $0, digest: []) }
                let reply: Reply
                switch try await service.accept(request, key: key) {
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
        clock.settle()
        return post
    }

    /// Has another reader read the reply to a post, from its start.
    func read(_ post: Post) throws -> RecordingReader {
        let id = try #require(post.id)
        let reader = RecordingReader()
        Task(executorPreference: shard) { [service, subscriptions] in
            guard let record = try? await service.find(id) else { return }
            subscriptions.byReader[ObjectIdentifier(reader)] = service.subscribe(
                reader, to: record, from: ReplyPosition())
        }
        clock.settle()
        return reader
    }

    /// Reads all there is of the reply to a post.
    func readWhole(_ post: Post) throws -> ReplyPage {
        let id = try #require(post.id)
        let found = Found()
        Task(executorPreference: shard) { [service] in
            guard let record = try? await service.find(id) else { return }
            found.page = try? await service.readWhole(record)
        }
        clock.settle()
        return try #require(found.page)
    }

    /// The subscription of such a reader.
    func subscription(of reader: RecordingReader) -> ReplySubscription? {
        subscriptions.byReader[ObjectIdentifier(reader)]
    }

    /// Stops the reply to a post; the record is there when that has come to its end.
    func stop(_ post: Post) -> Stopped {
        let stopped = Stopped()
        Task(executorPreference: shard) { [service] in
            guard let id = post.id, let record = try? await service.find(id) else { return }
            stopped.record = try? await service.stop(record)
        }
        clock.settle()
        return stopped
    }

    /// Makes replies of dead processes again.
    func adopt() {
        Task(executorPreference: shard) { [service] in try? await service.adoptAbandoned() }
        clock.settle()
    }

    /// The text of a reply that is in the store.
    func journalled(_ post: Post) -> String? {
        post.id.flatMap { database.replies[$0] }.map { String(decoding: $0.page.text, as: UTF8.self) }
    }

    /// Removes the conversation.
    func delete() {
        Task(executorPreference: shard) { [service] in try? await service.deleteConversation(appID: "app") }
        clock.settle()
    }

    /// Replaces a conversation, and gives what came of it.
    @discardableResult
    func replace(with text: String) -> Post {
        let request = ChatRequest(appID: "app", model: "", messages: [ModelMessage(role: "system", content: text)])
        let post = Post()
        Task(executorPreference: shard) { [service] in
            do throws(RelayError) {
                try await service.replaceConversation(request)
                post.isReplaced = true
            } catch {
                post.refusal = error
            }
        }
        clock.settle()
        return post
    }

    /// The answer that was begun last.
    func answer(_ index: Int? = nil) throws -> ScriptedGeneration {
        let all = model.generations
        guard let index = index ?? all.indices.last, all.indices.contains(index) else { throw NoAnswer() }
        return all[index]
    }

    /// Says something in the answer begun last, and ends it.
    func complete(_ text: String) throws {
        let answer = try answer()
        answer.say(text)
        answer.finish()
        clock.settle()
    }
}

struct NoAnswer: Error {}

/// What came of a stop.
final class Stopped: @unchecked Sendable {
    fileprivate(set) var record: ReplyRecord?
}

private final class Found: @unchecked Sendable {
    var page: ReplyPage?
}

private final class Subscriptions: @unchecked Sendable {
    var byReader: [ObjectIdentifier: ReplySubscription] = [:]
}

/// A prompt on its way.
final class Post: @unchecked Sendable {
    let reader = RecordingReader()
    fileprivate(set) var id: ReplyID?
    /// While it is made.
    fileprivate(set) weak var reply: Reply?
    fileprivate(set) var subscription: ReplySubscription?
    fileprivate(set) var refusal: RelayError?
    fileprivate var isReplaced = false

    /// Whether nothing is left to do, and nobody holds the reply any more.
    var isOver: Bool { isReplaced || id != nil && reply == nil }

    /// The code of the error that the reader was told, once.
    var code: RelayError.Code? { reader.ends.count == 1 ? reader.ends[0]?.code : nil }
    /// The code of an error that was no end: a stream would have sent it without an id.
    var trouble: RelayError.Code? { reader.endings.isEmpty ? code : nil }
    /// The state and the code of the single end that the reader got.
    var ending: String? { reader.ending }
    /// Whether the reader was told, once, that all is well.
    var isComplete: Bool { reader.ends.count == 1 && reader.ends[0] == nil && reader.isDone }
}
