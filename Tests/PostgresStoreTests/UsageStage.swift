import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay
import ChatterdSockets
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// Charges in a fresh database, with the stores of two processes. Confined to its shard.
struct UsageStage: Sendable {
    let processes: StoreProcesses
    let usage: UsageStore

    var store: PostgresConversationStore { processes.first }

    /// Runs `body` on a shard.
    static func run(_ body: @escaping @Sendable (UsageStage) async throws -> Void) async throws {
        try await StoreProcesses.run { processes in
            try await body(
                UsageStage(
                    processes: processes, usage: UsageStore(pool: processes.pool, lease: processes.first.lease)))
        }
    }

    /// A meter of a key, or of a token of a person with that key.
    static func meter(
        _ limits: Allowance = Allowance(), key: String = "k", person: String? = nil, own: Allowance = Allowance()
    ) -> Meter {
        Meter(source: .key(key), owner: Owner(app: "app", person: person), sourceLimits: limits, ownerLimits: own)
    }

    /// Opens a turn that counts.
    func open(
        _ prompt: String, _ meter: Meter, in conversation: ConversationKey = "app", options: String = "",
        key: IdempotencyKey? = nil,
        onInterrupt: InterruptPolicy = .close, by store: PostgresConversationStore? = nil
    ) async throws -> (StoredTurn, Quota?) {
        let id = ReplyID.random()
        let opened = try await (store ?? self.store).openTurn(
            NewTurn(
                conversation: conversation, prompts: [ModelMessage(role: "user", content: prompt)], id: id, model: "m",
                options: Array(options.utf8), key: key, onInterrupt: onInterrupt, meter: meter))
        guard case .opened(let turn, let history, let quota) = opened else { throw TestFailure("the turn is known") }
        return (StoredTurn(turn: turn, id: id, history: history), quota)
    }

    /// The limit that refuses a turn; `nil` if it is opened.
    func refusal(
        _ meter: Meter, in conversation: ConversationKey = "app", options: String = ""
    ) async throws -> ExceededLimit? {
        do {
            _ = try await open("p", meter, in: conversation, options: options)
            return nil
        } catch let error as RelayError {
            #expect(error.code == .access(.rateLimited))
            let exceeded: ExceededLimit = try #require(error.exceeded)
            return exceeded
        }
    }

    /// The charges in order of their tokens: prompt, answer, and whether they are settled.
    func charges() async throws -> [[String]] {
        try await processes.sql(
            "SELECT prompt_tokens, answer_tokens, settled_at IS NOT NULL FROM chatterd_charges ORDER BY 1, 2, 3")
    }

    /// Opens turns in parallel in two processes with their own connections. Returns how many were opened.
    func openAtOnce(_ count: Int, _ meter: Meter, options: String = "") async throws -> Int {
        var tasks: [Task<Int, any Error>] = []
        for index in 0..<2 {
            let shard = try Shard(index: index + 1)
            let conninfo = processes.conninfo
            let lease = processes.stores[index].lease
            tasks.append(
                Task(executorPreference: shard) {
                    var configuration = PostgresConfiguration(target: try ConnectionTarget(conninfo))
                    configuration.timeLimit = .seconds(600)
                    configuration.connectionTimeout = .seconds(600)
                    let pool = PostgresPool(configuration, on: shard)
                    let store = PostgresConversationStore(pool: pool, lease: lease, historyLimit: 1 << 20)
                    let opened = await Self.open(count / 2, meter, options, by: store, process: index)
                    await pool.shutDown()
                    return opened
                })
        }
        return try await tasks[0].value + tasks[1].value
    }

    private static func open(
        _ count: Int, _ meter: Meter, _ options: String, by store: PostgresConversationStore, process: Int
    ) async -> Int {
        let shard = store.pool.shard
        let tasks = (0..<count).map { number in
            let confined = Confined(store, to: shard)
            return Task(executorPreference: shard) {
                let opening = NewTurn(
                    conversation: "c\(process)-\(number)", prompts: [ModelMessage(role: "user", content: "p")],
                    id: .random(),
                    model: "m", options: Array(options.utf8), meter: meter)
                do {
                    _ = try await confined.value.openTurn(opening)
                    return 1
                } catch {
                    #expect((error as? RelayError)?.code == .access(.rateLimited), "\(error)")
                    return 0
                }
            }
        }
        var opened = 0
        for task in tasks {
            opened += await task.value
        }
        return opened
    }
}
