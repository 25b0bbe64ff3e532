import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Foundation
import Glibc
import Testing

@testable import ChatterdServerTestSupport

/// One reply and a thousand readers.
@Suite(.timeLimit(.minutes(30))) struct ManyReadersTests {
    private static let readers = 1_000
    private static let rounds = 40

    /// The behaviour of a reader, by rounds of the reply; the last round is after its end.
    private struct Plan {
        let joins: Int
        /// The rounds in which it does not read.
        var deaf: Range<Int>?
        /// The rounds between the loss of its connection and its return.
        var away: Range<Int>?
        /// The indices of the processes that it asks, at first and after its return.
        let processes: [Int]
    }

    @Test func thousandReadersGetTheStoredText() async throws {
        raiseDescriptorLimit()
        var random = SeededGenerator(seed: 3)
        let gates = (0..<Self.rounds).map { _ in Gate() }
        let script = Self.script(gates, &random)
        let upstream = try ScriptedUpstream(script)
        let plans = (0..<Self.readers).map { Self.plan($0, &random) }
        let settings: [Setting: String] = [.shards: "2", .unsentLimit: "4KiB", .writeTimeout: "10m"]
        try await onStage(upstream: upstream.url, environment: settings) { stage in
            let other = try stage.startAnother()
            defer { #expect(throws: Never.self) { try other.stop() } }
            let author = try stage.author("app", "one")
            let path = try #require(author.head["Location"])
            let readers = try Self.run(plans, through: gates, path: path, ports: [stage.port, other.port])

            // The first reader reads last, and gets all the text.
            let whole = author.client.readEvents().filter { $0.data != nil && $0.name == nil }.map {
                Array(($0.data ?? "").utf8)
            }
            let stored = try stage.storedReply("app")
            #expect(stored.state == "complete")
            #expect(stored.message.count > 40_000)
            var lines = Lines()
            #expect(lines.text(of: whole) == stored.message)
            let wrong = readers.indices.filter { index in
                let reader = readers[index]
                return !reader.hasEnd || !reader.names.isEmpty || !reader.statuses.allSatisfy { $0 == 200 }
                    || lines.text(of: reader.lines) != stored.message
            }
            let first = wrong.first.map { "\(plans[$0]), \(readers[$0].summary)" }
            #expect(wrong.isEmpty, "\(wrong.count) are wrong, the first: \(first ?? "")")
            for id in Set(readers.compactMap(\.lastID)) {
                let again = try RawClient.get(port: other.port, path, fields: [("Last-Event-ID", id)])
                #expect(again.status == 204)
            }
            #expect(upstream.requests.count == 1)
        }
    }

    // MARK: - The reply

    private static func script(_ gates: [Gate], _ random: inout SeededGenerator) -> [UpstreamStep] {
        var steps = [UpstreamStep.streamHead]
        for (round, gate) in gates.enumerated() {
            steps.append(.wait(for: gate))
            for _ in 0..<3 { steps.append(.chunk(ModelLine.token(random.text(upTo: 600)))) }
            steps.append(.chunk(ModelLine.token("round \(round);")))
        }
        return steps + [.chunk(ModelLine.done(content: "the end")), .endChunks]
    }

    // MARK: - The readers

    private static func plan(_ number: Int, _ random: inout SeededGenerator) -> Plan {
        // The first one reads all the time, and shows the progress of the reply.
        guard number > 0 else { return Plan(joins: 0, processes: [0]) }
        let joins = Int.random(in: 0...rounds, using: &random)
        var plan = Plan(joins: joins, processes: (0..<2).map { _ in Int.random(in: 0...1, using: &random) })
        guard joins < rounds - 1 else { return plan }
        let pause = Int.random(in: (joins + 1)..<rounds, using: &random)
        let until = Int.random(in: (pause + 1)...rounds, using: &random)
        if isSlow(number) {
            plan.deaf = pause..<until
        } else if number % 10 < 4 {
            plan.away = pause..<until
        }
        return plan
    }

    private static func isSlow(_ number: Int) -> Bool { number % 10 == 9 }

    /// Continues the reply round by round while readers join and leave, and reads all of them to the end.
    private static func run(
        _ plans: [Plan], through gates: [Gate], path: String, ports: [Int]
    ) throws -> [CrowdReader] {
        var crowd = Crowd(plans.indices.map { CrowdReader(isSlow($0) ? .slow : .quick) })
        for round in 0...rounds {
            for (index, plan) in plans.enumerated() {
                if plan.joins == round { try crowd.readers[index].join(port: ports[plan.processes[0]], reply: path) }
                crowd.readers[index].isDeaf = plan.deaf?.contains(round) ?? false
                if plan.away?.lowerBound == round { crowd.readers[index].hangUp() }
                if plan.away?.upperBound == round {
                    try crowd.readers[index].join(port: ports[plan.processes[1]], reply: path)
                }
            }
            guard round < rounds else { break }
            gates[round].open()
            // After the last round the answer may end before the search for its words.
            try crowd.read("round \(round)") { $0[0].hasReceived("round \(round);") || $0[0].isOver }
        }
        try crowd.read("the end of all") { $0.allSatisfy(\.isOver) }
        return crowd.readers
    }
}

/// The parsed lines; most readers get the same lines.
private struct Lines {
    private struct Line: Decodable {
        struct Message: Decodable {
            let content: String
        }

        let message: Message
        let done: Bool
    }

    /// Bytes in a dictionary, without a look at each: there are hundreds of megabytes.
    private struct Key: Hashable {
        let bytes: [UInt8]

        static func == (one: Key, other: Key) -> Bool {
            one.bytes.count == other.bytes.count && memcmp(one.bytes, other.bytes, one.bytes.count) == 0
        }

        func hash(into hasher: inout Hasher) {
            bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
    }

    private var known: [Key: (content: [UInt8], isDone: Bool)] = [:]

    /// The text of lines; `nil` unless the last line, and only the last line, has `"done":true`.
    mutating func text(of lines: [[UInt8]]) -> [UInt8]? {
        var text: [UInt8] = []
        for (index, line) in lines.enumerated() {
            let line = read(line)
            guard line.isDone == (index == lines.count - 1) else { return nil }
            text += line.content
        }
        return text
    }

    private mutating func read(_ json: [UInt8]) -> (content: [UInt8], isDone: Bool) {
        if let known = known[Key(bytes: json)] { return known }
        let line = try? JSONDecoder().decode(Line.self, from: Data(json))
        let read = (content: Array((line?.message.content ?? "no line").utf8), isDone: line?.done ?? false)
        known[Key(bytes: json)] = read
        return read
    }
}

extension Stage {
    /// Sends a prompt and reads the head of the answer, which has the location of the reply.
    fileprivate func author(_ appID: String, _ prompt: String) throws -> (client: RawClient, head: MessageHead) {
        let client = try RawClient(port: port)
        client.post("/llmchat", json: chatBody(appID, prompt))
        return (client, try client.readHead())
    }
}
