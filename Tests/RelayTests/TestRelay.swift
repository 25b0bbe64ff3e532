import LanguageModels
import Relay

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
    private let limits: RelayLimits

    /// Makes a process with one shard.
    convenience init(_ limits: RelayLimits = RelayLimits(), database: MemoryDatabase = MemoryDatabase()) {
        self.init(
            limits, clock: HandClock(), store: MemoryStore(database, process: 1), board: TurnBoard(limits: limits),
            directory: ReplyDirectory())
    }

    private init(
        _ limits: RelayLimits, clock: HandClock, store: MemoryStore, board: TurnBoard, directory: ReplyDirectory
    ) {
        self.limits = limits
        self.clock = clock
        self.store = store
        self.board = board
        self.directory = directory
        shard = clock.makeShard()
        service = ChatService(
            store: store, models: ModelDirectory(.init(name: "test", serves: [], model: model)), limits: limits,
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
        onInterrupt: InterruptPolicy = .close
    ) -> Post {
        var request = ChatRequest(
            appID: appID, model: "m", messages: texts.map { ModelMessage(role: "user", content: $0) })
        request.onDisconnect = onDisconnect
        request.onInterrupt = onInterrupt
        let post = Post()
        Task(executorPreference: shard) { [service, request] in
            do throws(RelayError) {
                guard case .started(let reply) = try await service.accept(request) else { return }
                post.id = reply.id
                post.subscription = reply.subscribe(post.reader)
                post.reply = reply
                await reply.run()
                post.reply = nil
                post.isOver = true
            } catch {
                post.refusal = error
            }
        }
        clock.settle()
        return post
    }

    /// Replaces a conversation, and gives what came of it.
    @discardableResult
    func replace(with text: String) -> Post {
        let request = ChatRequest(appID: "app", model: "", messages: [ModelMessage(role: "system", content: text)])
        let post = Post()
        Task(executorPreference: shard) { [service] in
            do throws(RelayError) {
                try await service.replaceConversation(request)
                post.isOver = true
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

/// A prompt on its way.
final class Post: @unchecked Sendable {
    let reader = RecordingReader()
    fileprivate(set) var id: ReplyID?
    fileprivate(set) var reply: Reply?
    fileprivate(set) var subscription: ReplySubscription?
    fileprivate(set) var refusal: RelayError?
    /// Whether nothing is left to do.
    fileprivate(set) var isOver = false

    /// The code of the error that the reader was told, once.
    var code: RelayError.Code? { reader.ends.count == 1 ? reader.ends[0]?.code : nil }
    /// Whether the reader was told, once, that all is well.
    var isComplete: Bool { reader.ends.count == 1 && reader.ends[0] == nil && reader.isDone }
}
