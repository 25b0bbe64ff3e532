import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdTestSupport
import Testing

@testable import ChatterdRelay

/// Which of several equal model servers a conversation asks.
@Suite(.timeLimit(.minutes(30))) struct ServerAffinityTests {
    private func preferred(_ servers: [String], by conversation: ConversationKey) -> String? {
        let affinity = ServerAffinity(of: conversation)
        return servers.max { affinity.weight(of: $0) < affinity.weight(of: $1) }
    }

    /// All processes and versions agree.
    @Test func weightIsAlwaysTheSame() {
        #expect(ServerAffinity(of: "shop").weight(of: "a") == 18_104_169_786_662_537_353)
    }

    @Test(arguments: 2...5) func serversGetEqualShares(count: Int) {
        let servers = (0..<count).map { "gpu\($0)" }
        var shares: [String: Int] = [:]
        for number in 0..<10_000 {
            shares[preferred(servers, by: "app\u{1F}person\u{1F}\(number)") ?? "", default: 0] += 1
        }
        #expect(shares.count == count)
        for share in shares.values {
            #expect(abs(share - 10_000 / count) < 500)
        }
    }

    @Test func removedServerMovesOnlyItsOwnConversations() {
        let servers = ["a", "b", "c"]
        for number in 0..<1_000 {
            let before = preferred(servers, by: "\(number)")
            let after = preferred(["a", "b"], by: "\(number)")
            #expect(before == "c" || before == after)
        }
    }

    @Test func shareIsAQuarterMoreThanTheAverage() {
        #expect(ServerLoad.share(of: 0, among: 2) == 1)
        #expect(ServerLoad.share(of: 1, among: 2) == 2)
        #expect(ServerLoad.share(of: 2, among: 2) == 2)
        #expect(ServerLoad.share(of: 7, among: 2) == 5)
        #expect(ServerLoad.share(of: 99, among: 1) == 125)
    }

    // MARK: - The plan

    private func firstAsked(_ candidates: FailoverPlan.Candidate...) -> FailoverPlan.Step {
        var plan = FailoverPlan(RelayLimits())
        return plan.begin(candidates)
    }

    @Test func priorityAndLoadComeBeforeAffinity() {
        let first = FailoverPlan.Step.ask(0, after: .zero, continues: false)
        let second = FailoverPlan.Step.ask(1, after: .zero, continues: false)
        #expect(firstAsked(.init(affinity: 1), .init(affinity: 9)) == second)
        #expect(firstAsked(.init(priority: 1), .init(affinity: 9)) == first)
        #expect(firstAsked(.init(affinity: 1), .init(load: .aboveShare, affinity: 9)) == first)
        #expect(firstAsked(.init(affinity: 1), .init(load: .full, affinity: 9)) == first)
        // A server above its share is better than a queue.
        #expect(firstAsked(.init(load: .full, affinity: 9), .init(load: .aboveShare)) == second)
    }

    // MARK: - A simulation

    /// Two servers whose caches hold the last prompts of some conversations.
    private struct Caches {
        private var prompts: [[Int]] = [[], []]
        private(set) var hits = 0

        mutating func ask(_ server: Int, conversation: Int) {
            if let index = prompts[server].firstIndex(of: conversation) {
                hits += 1
                prompts[server].remove(at: index)
            }
            prompts[server].append(conversation)
            if prompts[server].count > 32 { prompts[server].removeFirst() }
        }
    }

    /// Sixty conversations at random, up to twelve answers at once, eight slots and a cache of 32 conversations for each of two servers: of
    /// 10,000 prompts, 74 % find the one before in the cache with affinity, and 53 % if the first server gets all that it has slots for.
    @Test func affinityFindsMoreCaches() throws {
        func hits(withAffinity: Bool) -> Int {
            var random = SeededGenerator(seed: 5)
            var caches = Caches()
            let healths = [UpstreamHealth(), UpstreamHealth()]
            let targets = zip(["a", "b"], healths).map { name, health in
                var description = UpstreamDescription(name: name, kind: .ollama)
                description.slots = 8
                return ModelTarget(Upstream(description, model: ScriptedModel(), health: health), model: "m")
            }
            var running: [Int] = []
            for _ in 0..<10_000 {
                let conversation = Int.random(in: 0..<60, using: &random)
                var candidates = targets.map { _ in FailoverPlan.Candidate() }
                candidates.balance(targets, for: "app\u{1F}\(conversation)")
                if !withAffinity {
                    for number in candidates.indices {
                        candidates[number].affinity = 0
                        if candidates[number].load == .aboveShare { candidates[number].load = .free }
                    }
                }
                var plan = FailoverPlan(RelayLimits())
                guard case .ask(let server, _, _) = plan.begin(candidates) else { continue }
                caches.ask(server, conversation: conversation)
                healths[server].recordRequest(at: Instant(nanoseconds: 0))
                running.append(server)
                while running.count > Int.random(in: 0...11, using: &random) {
                    healths[running.remove(at: Int.random(in: 0..<running.count, using: &random))].recordAnswer()
                }
            }
            return caches.hits
        }
        let (with, without) = (hits(withAffinity: true), hits(withAffinity: false))
        #expect(with == 7_441)
        #expect(without == 5_268)
    }
}
