import ChatterdBasics
import ChatterdChat
import ChatterdIdentity

/// The tools of the server for one reply: which calls of the model are theirs, and the steps so far. Confined to its shard.
final class ReplyTools {
    /// The limit of calls of a round that run. The others have a result that says so, as far as they are kept.
    static let maximumCalls = 32
    private static let keptCalls = 2 * maximumCalls
    /// The bytes of all results of a reply after which no other call runs: each end of a call stores all of them.
    static let maximumResults = 1 << 20
    /// The limit of calls that run together.
    static let maximumTogether = 4
    /// The limit of names in a result.
    private static let maximumNames = 16

    private let runner: any ToolRunner
    private let key: String
    /// The names of the tools that run here.
    private let residents: [String]
    /// The names of the tools of the client.
    private let others: [String]
    private let maximumRounds: Int
    /// The limit of calls that the request sets; `nil` for none.
    private let requestedMaximum: Int?
    /// The tools of named servers by the names that the model has for them.
    private let origins: [ExactText: ToolOrigin]
    /// The tools whose calls end the answer, because the client wants to be asked.
    private var asking: Set<ExactText> = []
    /// The calls that the client has approved, until they begin.
    private var approved: [AnswerSteps.Call]

    private(set) var steps = AnswerSteps()
    /// The end of the content of the rounds.
    var base = ReplyPosition()
    /// The messages of the steps.
    private(set) var messages = EncodedConversation()
    /// The calls of the current answer that run here.
    private var calls: [AnswerSteps.Call] = []
    /// Its calls for the client, which gets them after the tools of the server have run.
    private var callsOfClient: [[UInt8]] = []
    /// The tokens of the rounds that have ended, as the model servers counted them.
    private(set) var tokens = (prompt: 0, answer: 0)
    private var running: [Int: () -> Void] = [:]
    /// Whether the steps differ from those that are stored.
    private(set) var isUnstored = false
    /// Whether an answer to a call that waits for an approval may have come since the last look at them.
    var hasAnswers = false
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
        requestedMaximum = members.maximumToolCalls
        approved = Array(members.approvedCalls.prefix(Self.keptCalls))
        var origins: [ExactText: ToolOrigin] = [:]
        for server in members.toolServers {
            for tool in server.tools {
                origins[ExactText(tool.calledName)] = ToolOrigin(label: server.label, name: tool.name)
                if tool.isAsked { asking.insert(ExactText(tool.calledName)) }
            }
        }
        self.origins = origins
    }

    /// Whether the model gets no tools any more, so that it answers.
    var isExhausted: Bool { steps.rounds.count >= maximumRounds }

    /// Whether the current answer calls tools that run here.
    var hasCalls: Bool { !calls.isEmpty }

    /// Whether the current answer has calls of any tool.
    var hasAnyCalls: Bool { hasCalls || !callsOfClient.isEmpty }

    /// Takes the calls of a line. A call of a name that the model got from nowhere runs here: its result says so. If the model gets no tools any
    /// more, there is nothing to run.
    func takeCalls(_ array: Span<UInt8>) {
        guard let list = (try? JSONSlice(array.array))?.elements(first: .max) else { return }
        for element in list {
            guard let call = AnswerSteps.Call(element), !others.contains(call.name),
                !asking.contains(ExactText(call.name))
            else {
                callsOfClient.append(element.bytes)
                continue
            }
            if !isExhausted, calls.count < Self.keptCalls { calls.append(call) }
        }
    }

    /// Takes the calls of the current answer that are for the client, as a JSON array; `nil` if there are none.
    func takeCallsOfClient() -> [UInt8]? {
        guard !callsOfClient.isEmpty else { return nil }
        defer { callsOfClient = [] }
        return Array("[".utf8) + callsOfClient.joined(separator: Array(",".utf8)) + Array("]".utf8)
    }

    /// Forgets the calls of an answer that has failed.
    func forgetCalls() {
        calls = []
        callsOfClient = []
    }

    /// Begins the round of the current answer.
    ///
    /// - Parameter counts: the tokens of the request; `nil` for a round without a request.
    func beginRound(text: [UInt8], thinking: [UInt8], tokens counts: TokenCounts?) {
        var round = AnswerSteps.Round(text: text, thinking: thinking, calls: calls)
        let earlier = steps.rounds.reduce(0) { $0 + $1.calls.count }
        for index in round.calls.indices {
            round.calls[index].origin = origins[ExactText(round.calls[index].name)]
            if let requestedMaximum, earlier + index >= requestedMaximum {
                let reason = "not run, because the request permits \(requestedMaximum) calls (max_tool_calls)."
                round.calls[index].end(.failure(reason))
            } else if index >= Self.maximumCalls {
                round.calls[index].end(.failure("not run, because an answer may call \(Self.maximumCalls) tools."))
            } else if !residents.contains(round.calls[index].name) {
                let names = (residents + others).prefix(Self.maximumNames).joined(separator: ", ")
                round.calls[index].end(.failure("there is no tool of this name. The tools are \(names)."))
            } else if runner.needsApproval(round.calls[index].name) {
                round.calls[index].ask()
            }
        }
        calls = []
        tokens.prompt += counts?.prompt ?? 0
        tokens.answer += counts?.answer ?? 0
        steps.rounds.append(round)
        stepsChanged()
    }

    /// Whether calls that the client has approved have not begun. They are the first round.
    var hasApproved: Bool { !approved.isEmpty && steps.rounds.isEmpty }

    /// Begins the round of the calls that the client has approved.
    func beginApproved() {
        calls = approved
        approved = []
        beginRound(text: [], thinking: [], tokens: nil)
    }

    private func stepsChanged() {
        messages = steps.messages
        isUnstored = true
    }

    /// The present steps are stored, if none have changed meanwhile.
    func stored() {
        isUnstored = false
    }

    /// Takes the steps of a reply that another process has left. Calls that had begun and may not be repeated have an unknown outcome. Calls
    /// that need an approval and have none wait for it.
    func adopt(_ stored: AnswerSteps, _ approvals: CallApprovals) {
        steps = stored
        resultSize = steps.rounds.reduce(0) { $0 + $1.calls.reduce(0) { $0 + $1.result.count } }
        for round in steps.rounds.indices {
            for index in steps.rounds[round].calls.indices {
                let call = steps.rounds[round].calls[index]
                let isRepeated = residents.contains(call.name) && runner.isIdempotent(call.name)
                if call.state == .running, !isRepeated {
                    steps.rounds[round].calls[index].end(.unknown, call.result)
                } else if call.state == .running || call.state == .waiting, runner.needsApproval(call.name),
                    approvals[StepPlace(round: round, index: index)] != .approved
                {
                    steps.rounds[round].calls[index].ask()
                }
            }
        }
        stepsChanged()
    }

    // MARK: - Approvals

    /// Whether a call waits for an approval.
    var isAsking: Bool { !isCancelled && last.contains { $0.state == .asked } }

    /// The calls that wait for an approval.
    var asked: [StepPlace] {
        last.indices.filter { last[$0].state == .asked }.map { StepPlace(round: steps.rounds.count - 1, index: $0) }
    }

    /// Takes the answers to the calls that wait for an approval.
    ///
    /// - Returns: whether there is one.
    func take(_ approvals: CallApprovals) -> Bool {
        var hasChanged = false
        for place in asked {
            guard let answer = approvals[place] else { continue }
            hasChanged = true
            switch answer {
            case .approved: last[place.index].approve()
            case .refused: last[place.index].refuse("The person has refused this call.")
            case .missed:
                last[place.index].refuse("The call was not made: no person has answered in time whether it may be.")
            }
        }
        if hasChanged { stepsChanged() }
        return hasChanged
    }

    // MARK: - Running

    /// The calls of the last round.
    private var last: [AnswerSteps.Call] {
        get { steps.rounds.last?.calls ?? [] }
        set { steps.rounds[steps.rounds.count - 1].calls = newValue }
    }

    /// Whether a call of the last round has not ended.
    var hasOpenCalls: Bool { last.contains { !$0.state.isEnd } }

    /// Runs the calls of the last round that have not ended, up to the first one that waits for an approval: one after the other, and those of
    /// tools that permit it together.
    ///
    /// - Parameter store: stores the steps: before calls begin, and after each end.
    func run(_ store: () async throws(RelayError) -> Void) async throws(RelayError) {
        do throws(RelayError) {
            while !isCancelled, let batch = nextBatch() {
                try await store()
                // The reply may have been stopped meanwhile.
                guard !isCancelled else { return }
                batch.forEach(start)
                while !running.isEmpty || hasEnds {
                    if !hasEnds { await withCheckedContinuation { wake = $0 } }
                    hasEnds = false
                    stepsChanged()
                    try await store()
                }
            }
        } catch {
            cancel()
            throw error
        }
    }

    /// The next calls that may run together, marked as running; none if the others may not run, and `nil` if all had ended.
    private func nextBatch() -> [Int]? {
        var calls = last
        var batch: [Int] = []
        var refusesSome = false
        for index in calls.indices where !calls[index].state.isEnd {
            guard resultSize < Self.maximumResults else {
                let reason = "not run, because the results of this answer have \(Self.maximumResults) bytes already."
                calls[index].end(.failure(reason))
                refusesSome = true
                continue
            }
            guard calls[index].state != .asked else { break }
            let isNext =
                batch.isEmpty || runner.isParallel(calls[index].name) && runner.isParallel(calls[batch[0]].name)
            guard isNext, batch.count < Self.maximumTogether else { break }
            calls[index].begin()
            batch.append(index)
        }
        last = calls
        stepsChanged()
        return batch.isEmpty && !refusesSome ? nil : batch
    }

    /// Ends the calls that run.
    ///
    /// - Parameter leavesThem: whether another process finds them as calls that run, as after the death of this process. Otherwise they have an
    ///   unknown outcome.
    func cancel(leavesThem: Bool = false) {
        isCancelled = true
        let calls = running
        running = [:]
        for (index, cancel) in calls {
            cancel()
            guard !leavesThem else { continue }
            let text = "The call was stopped before its end. It may have had its effect."
            last[index].end(.unknown, Array(text.utf8))
        }
        if !leavesThem {
            for place in asked {
                last[place.index].refuse("The call was not made: the answer was stopped before it.")
                isUnstored = true
            }
        }
        hasEnds = hasEnds || !calls.isEmpty
        wake.take()?.resume()
    }

    private func start(_ index: Int) {
        let round = steps.rounds.count - 1
        running[index] = {}
        let cancel = runner.start(last[index], key: "\(key)-\(round)-\(index)") { [weak self] result in
            guard let self, running.removeValue(forKey: index) != nil else { return }
            resultSize += result.text.count
            last[index].end(result)
            hasEnds = true
            wake.take()?.resume()
        }
        running[index] = cancel
    }
}

extension AnswerSteps.Call {
    fileprivate mutating func refuse(_ reason: String) {
        end(.refused, Array(reason.utf8))
    }

    fileprivate mutating func end(_ result: ToolResult) {
        end(result.isError ? .failed : .done, result.text)
    }
}
