import ChatterdBasics
import ChatterdChat
import ChatterdIdentity

/// The tools of the server for one reply: which calls of the model are theirs, and the steps so far. Confined to its shard.
final class ReplyTools {
    /// The limit of calls of an answer that run. The others have a result that says so.
    static let maximumCalls = 32
    /// The limit of all results of a reply together, in bytes: each end of a call stores all of them.
    static let maximumResults = 1 << 20

    private let runner: any ToolRunner
    private let key: String
    /// The names of the tools that run here.
    private let residents: [String]
    /// The names of the tools of the client.
    private let others: [String]
    private let maximumRounds: Int

    private(set) var steps = AnswerSteps()
    /// The end of the content of the rounds.
    var base = ReplyPosition()
    /// The messages of the steps.
    private(set) var messages = EncodedConversation()
    /// The calls of the current answer that run here.
    private var calls: [AnswerSteps.Call] = []
    private var running: [Int: () -> Void] = [:]
    /// Whether calls have ended since the steps were stored.
    private var hasEnds = false
    private var wake: CheckedContinuation<Void, Never>?
    private var isCancelled = false
    /// The bytes of all results.
    private var resultSize = 0

    /// Creates the tools of a reply; `nil` if its request offers no tool of the server.
    ///
    /// The names are those that the request was stored with. An imported conversation may have any names there.
    init?(of members: [RawMember], for id: ReplyID, app: String, runner: (any ToolRunner)?, limits: RelayLimits) {
        let offered = members.residentTools
        guard let runner, !offered.isEmpty else { return nil }
        residents = offered.filter { runner.isOffered($0, to: app) }
        self.runner = runner
        others = members.toolNames.filter { !offered.contains($0) }
        key = "\(id)"
        maximumRounds = limits.toolRounds
    }

    /// Whether the model gets no tools any more, so that it answers.
    var isExhausted: Bool { steps.rounds.count >= maximumRounds }

    /// Whether the current answer calls tools that run here.
    var hasCalls: Bool { !calls.isEmpty }

    /// Takes the calls of a line that run here. Returns the others, as they are, or `nil` if all of them are others.
    ///
    /// A call of a name that the model got from nowhere runs here too: its result says so.
    func takeCalls(_ array: Span<UInt8>) -> [[UInt8]]? {
        guard !isExhausted, let list = (try? JSONSlice(array.array))?.elements(first: .max) else { return nil }
        var rest: [[UInt8]] = []
        let before = calls.count
        for element in list {
            if let call = AnswerSteps.Call(element), !others.contains(call.name) {
                calls.append(call)
            } else {
                rest.append(element.bytes)
            }
        }
        return calls.count > before ? rest : nil
    }

    /// Forgets the calls of an answer that has failed.
    func forgetCalls() { calls = [] }

    /// Begins the round of the current answer.
    func beginRound(text: [UInt8], thinking: [UInt8]) {
        var round = AnswerSteps.Round(text: text, thinking: thinking, calls: calls)
        for index in round.calls.indices {
            if index >= Self.maximumCalls {
                round.calls[index].end(.failure("not run, because an answer may call \(Self.maximumCalls) tools."))
            } else if !residents.contains(round.calls[index].name) {
                let names = (residents + others).joined(separator: ", ")
                round.calls[index].end(.failure("there is no tool of this name. The tools are \(names)."))
            }
        }
        calls = []
        steps.rounds.append(round)
        messages = steps.messages
    }

    /// Takes the steps of a reply that another process has left. Calls that may not be repeated have an unknown outcome.
    func adopt(_ stored: AnswerSteps) {
        steps = stored
        resultSize = steps.rounds.reduce(0) { $0 + $1.calls.reduce(0) { $0 + $1.result.count } }
        for round in steps.rounds.indices {
            for index in steps.rounds[round].calls.indices {
                let call = steps.rounds[round].calls[index]
                let isRepeated = residents.contains(call.name) && runner.isIdempotent(call.name)
                if call.state == .running, !isRepeated { steps.rounds[round].calls[index].state = .unknown }
            }
        }
        messages = steps.messages
    }

    // MARK: - Running

    /// The calls of the last round that have not ended.
    private var waiting: [Int] {
        guard let calls = steps.rounds.last?.calls else { return [] }
        return calls.indices.filter { calls[$0].state == .running }
    }

    /// Runs the calls of the last round that have not ended: one after the other, and those of tools that permit it together.
    ///
    /// - Parameter store: stores the steps after each end.
    func run(_ store: () async throws(RelayError) -> Void) async throws(RelayError) {
        var waiting = waiting[...]
        while !isCancelled, let first = waiting.popFirst() {
            start(first)
            while isParallel(first), let next = waiting.first, isParallel(next) {
                waiting.removeFirst()
                start(next)
            }
            while !running.isEmpty || hasEnds {
                if !hasEnds { await withCheckedContinuation { wake = $0 } }
                hasEnds = false
                messages = steps.messages
                try await store()
            }
        }
    }

    /// Ends the calls that run. They have an unknown outcome.
    func cancel() {
        isCancelled = true
        let calls = running
        running = [:]
        for (index, cancel) in calls {
            cancel()
            let text = "The call was stopped before its end. It may have had its effect."
            steps.rounds[steps.rounds.count - 1].calls[index].end(ToolResult(text: Array(text.utf8), isError: true))
            steps.rounds[steps.rounds.count - 1].calls[index].state = .unknown
        }
        hasEnds = hasEnds || !calls.isEmpty
        wake.take()?.resume()
    }

    private static let tooMany = ToolResult.failure(
        "the results of this answer have more than \(maximumResults) bytes together.")

    private func isParallel(_ index: Int) -> Bool {
        runner.isParallel(steps.rounds[steps.rounds.count - 1].calls[index].name)
    }

    private func start(_ index: Int) {
        let round = steps.rounds.count - 1
        running[index] = {}
        let cancel = runner.start(steps.rounds[round].calls[index], key: "\(key)-\(round)-\(index)") {
            [weak self] result in
            guard let self, running.removeValue(forKey: index) != nil else { return }
            resultSize += result.text.count
            steps.rounds[round].calls[index].end(resultSize > Self.maximumResults ? Self.tooMany : result)
            hasEnds = true
            wake.take()?.resume()
        }
        running[index] = cancel
    }
}

extension AnswerSteps.Call {
    fileprivate mutating func end(_ result: ToolResult) {
        state = result.isError ? .failed : .done
        self.result = result.text
    }
}
