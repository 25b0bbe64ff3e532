import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdRelay
import ChatterdSockets

/// The servers of a process that speak the Model Context Protocol, and their tools. Safe on any thread.
///
/// A server is asked for its tools at the start, every five minutes, and every ten seconds while it cannot be used. Meanwhile it has the tools
/// that it had last.
public final class MCPServers: Sendable {
    /// What was learned of a server.
    public struct Report: Sendable, Equatable {
        public let server: String
        /// The number of tools that models get. A server that cannot be used keeps its last number.
        public var count = 0
        /// Why chatterd cannot use the server, or some of its tools.
        public var problems: [String] = []
    }

    /// The limit of all tools of a server as models get them, in bytes. Further ones are left out.
    static let maximumOffers = 128 << 10
    /// The time that the start of a process waits for the tools.
    public static let startLimit = Duration.seconds(5)
    /// The pause after an answer, and after a failure.
    private let interval, retryInterval: Duration

    /// The part that is confined to the shard.
    private final class Schedule {
        var timers: [DeadlineTimer] = []
        /// The last report of each server.
        var reports: [Report?]
        /// The question to each server that is under way, and whether another one is wanted after it.
        var questions: [(task: Task<Void, Never>, isRepeated: Bool)?]

        init(_ count: Int) {
            reports = Array(repeating: nil, count: count)
            questions = Array(repeating: nil, count: count)
        }
    }

    private let descriptions: [MCPDescription]
    private let shard: Shard
    private let servers: [Confined<MCPServer>]
    /// The tools of each server. No two tools have the same name.
    private let lists: Lock<[[ToolDescription]]>
    private let schedule: Confined<Schedule>
    /// The names that tools of servers must not have.
    private let taken: [String]
    private let report: @Sendable (Report) -> Void

    /// Creates the servers. None is asked before `start`.
    ///
    /// - Parameters:
    ///   - taken: the names that tools of servers must not have: those of declared tools.
    ///   - requestLimit: the limit of each request beside calls.
    ///   - interval: the pause after an answer of a server.
    ///   - retryInterval: the pause after a failure of one.
    ///   - report: is called on the shard when what is known of a server has changed.
    public init(
        _ descriptions: [MCPDescription], taken: [String], on shard: Shard,
        requestLimit: Duration = .seconds(10), interval: Duration = .seconds(300),
        retryInterval: Duration = .seconds(10), report: @escaping @Sendable (Report) -> Void
    ) {
        self.descriptions = descriptions
        self.shard = shard
        self.taken = taken
        self.report = report
        (self.interval, self.retryInterval) = (interval, retryInterval)
        servers = descriptions.map { Confined(MCPServer($0, on: shard, requestLimit: requestLimit), to: shard) }
        lists = Lock(Array(repeating: [], count: descriptions.count))
        schedule = Confined(Schedule(descriptions.count), to: shard)
    }

    /// Asks all servers, and returns when all have answered, or at the limit: then those that have not are reported.
    public func start(within limit: Duration) async {
        guard !servers.isEmpty else { return }
        await withTaskExecutorPreference(shard) { @concurrent [self] in
            schedule.value.timers = servers.indices.map { index in
                DeadlineTimer(on: shard) { [weak self] in _ = self?.ask(index) }
            }
            let questions = servers.indices.map { ask($0) }
            try? await shard.withTimeout(limit) {
                for question in questions { await question.value }
            }
            for index in servers.indices where schedule.value.reports[index] == nil {
                let name = descriptions[index].name
                tell(index, Report(server: name, problems: ["the server has not answered within \(limit.text)"]))
            }
        }
    }

    /// Asks all servers soon, because the operator wants it.
    public func reload() {
        guard !servers.isEmpty else { return }
        shard.run { [self] in
            for index in servers.indices { ask(index) }
        }
    }

    /// Ends the connections.
    public func stop() async {
        guard !servers.isEmpty else { return }
        await withTaskExecutorPreference(shard) { @concurrent [self] in
            schedule.value.timers = []
            await withTaskGroup { group in
                for server in servers { group.addTask { await server.value.close() } }
            }
        }
    }

    /// The tools of the servers at present.
    public var tools: [ToolDescription] { lists.withLock { $0.flatMap { $0 } } }

    /// Whether a server is declared for an app.
    func has(_ name: String, at url: String?, for app: String) -> Bool {
        descriptions.contains { server in
            guard server.name == name, server.terms.apps.contains(app) else { return false }
            guard let url else { return true }
            guard case .http(let transport) = server.transport else { return false }
            return transport.isAt(url)
        }
    }

    /// The tool that has a name. chatterd first asks a server whose tools it does not know yet: another process may have offered them.
    func find(_ name: String) async -> ToolDescription? {
        if let tool = tool(name) { return tool }
        guard let index = descriptions.firstIndex(where: { name.hasPrefix($0.name + "_") }) else { return nil }
        await withTaskExecutorPreference(shard) { @concurrent [self] in
            guard schedule.value.reports[index]?.count ?? 0 == 0 else { return }
            await ask(index).value
        }
        return tool(name)
    }

    /// The terms of the tool that has a name, also before its server has answered.
    func terms(of name: String) -> ToolTerms? {
        tool(name)?.terms ?? descriptions.first { name.hasPrefix($0.name + "_") }?.terms
    }

    /// The tool that has a name.
    func tool(_ name: String) -> ToolDescription? {
        lists.withLock { lists in lists.lazy.flatMap { $0 }.first { $0.name == name } }
    }

    // MARK: - On the shard

    /// Asks a server for its tools, and once more if a question is under way: its answer may be older than the reason for this one.
    @discardableResult private func ask(_ index: Int) -> Task<Void, Never> {
        let schedule = schedule.value
        if let question = schedule.questions[index] {
            schedule.questions[index]?.isRepeated = true
            return question.task
        }
        let task = Task(executorPreference: shard) { [self] in
            repeat {
                self.schedule.value.questions[index]?.isRepeated = false
                await look(index)
            } while self.schedule.value.questions[index]?.isRepeated ?? false
            self.schedule.value.questions[index] = nil
        }
        schedule.questions[index] = (task, false)
        return task
    }

    private func look(_ index: Int) async {
        let server = servers[index]
        let outcome = await server.value.list()
        let next: Duration
        var current = Report(server: descriptions[index].name)
        switch outcome {
        case .failure(let failure):
            current.count = lists.withLock { $0[index].count }
            current.problems = [failure.reason]
            next = retryInterval
        case .success(let list):
            let description = descriptions[index]
            var (tools, problems) = await LongWork.run(on: LongWork.unknownSize) { [shard, taken] in
                Self.offers(list, of: description, taken: taken) { tool in
                    MCPAction(
                        server: server, shard: shard, name: description.name, tool: tool.name,
                        isReadOnly: tool.isReadOnly)
                }
            }
            lists.withLock { lists in
                lists[index] = []
                // Another server may have got the name meanwhile.
                let names = lists.flatMap { $0.map(\.name) }
                problems += tools.filter { names.contains($0.name) }.map {
                    "\($0.name): a tool of another server has this name"
                }
                tools.removeAll { names.contains($0.name) }
                lists[index] = tools
            }
            (current.count, current.problems) = (tools.count, problems)
            next = interval
        }
        tell(index, current)
        let schedule = schedule.value
        if schedule.timers.indices.contains(index) { schedule.timers[index].set(after: next) }
    }

    private func tell(_ index: Int, _ current: Report) {
        let last = schedule.value.reports[index]
        schedule.value.reports[index] = current
        if last != current { report(current) }
    }

    /// The tools of a server that models get, and what keeps others from it.
    private static func offers(
        _ list: [MCPTool], of server: MCPDescription, taken: [String], action: (MCPTool) -> MCPAction
    ) -> (tools: [ToolDescription], problems: [String]) {
        var offers: [ToolDescription] = []
        var problems: [String] = []
        var size = 0
        for tool in list where server.tools?.contains(tool.name) ?? true {
            guard let name = tool.offeredName(of: server.name),
                !taken.contains(name), !offers.contains(where: { $0.name == name })
            else {
                problems.append("\(tool.name): its name is too long, or another tool has it")
                continue
            }
            do throws(JSONSchemaError) {
                var offer = try ToolDescription(
                    name: name, description: tool.description, parameters: tool.parameters,
                    action: .mcp(action(tool)))
                offer.terms = server.terms
                size += offer.offer.json.count
                guard size <= maximumOffers else {
                    problems.append("\(tool.name): the tools of the server have more than \(maximumOffers) bytes")
                    break
                }
                offers.append(offer)
            } catch {
                problems.append("\(tool.name): the schema of its arguments cannot be used: \(error.reason)")
            }
        }
        for name in server.tools ?? [] where !list.contains(where: { $0.name == name }) {
            problems.append("\(name): the server has no such tool")
        }
        return (offers, problems)
    }
}

/// A call of a tool of a server.
public struct MCPAction: Sendable {
    let server: Confined<MCPServer>
    let shard: Shard
    /// The name of the server.
    public let name: String
    /// The name that the server has for the tool.
    public let tool: String
    /// Whether the server says that the tool changes nothing.
    let isReadOnly: Bool

    /// Makes the call, on the shard of the server.
    func run(with arguments: JSONSlice) async -> ToolResult {
        let json = arguments.json
        return await withTaskExecutorPreference(shard) { @concurrent [server, tool] in
            await server.value.call(tool, arguments: json)
        }
    }
}
