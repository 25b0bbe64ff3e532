import ChatterClient
import ChatterdTestSupport
import Foundation
import Testing

/// Answers whose connections are cut at every event, and whose server is killed and replaced in the middle.
@Suite(.timeLimit(.minutes(30))) struct LostConnectionTests {
    /// The number of answers: `CHATTERD_TEST_CUT_ANSWERS` in the environment.
    private static let count = Int(ProcessInfo.processInfo.environment["CHATTERD_TEST_CUT_ANSWERS"] ?? "") ?? 20
    /// How many answers lose one server.
    private static let together = 200

    /// What the answers of one server have reached.
    private struct Progress {
        /// How many have text, or have ended.
        var begun = 0
        var interrupted = 0
        var restarted = 0
    }

    @Test func snapshotsGrowToTheStoredTextWhateverIsLost() async throws {
        var server = try await blocking { try LibraryServer() }
        let proxy = try CuttingProxy(to: server.port)
        let client = try ChatterClient(
            url: "http://127.0.0.1:\(proxy.port)", credential: .app("library"),
            retries: RetryPolicy(
                first: .milliseconds(10), longest: .milliseconds(500), start: .seconds(600), resumption: .seconds(600)))
        var (interrupted, restarted) = (0, 0)
        for first in stride(from: 0, to: Self.count, by: Self.together) {
            let numbers = first..<min(first + Self.together, Self.count)
            let progress = Monitor(Progress())
            let answers = Task {
                try await withThrowingTaskGroup(of: Answer.self) { group in
                    for number in numbers {
                        group.addTask { try await answer(to: prompt(number), client, progress) }
                    }
                    group.addTask { try await answer(to: endlessPrompt(), client, progress) }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
            }
            let old = server
            server = try await blocking {
                _ = progress.wait { $0.begun == numbers.count + 1 ? true : nil }
                return try old.killedAndReplaced()
            }
            let direct = try server.client()
            for answer in try await answers.value {
                let stored = try await direct.reply(try #require(answer.reply))
                #expect(stored.message.content == answer.text)
            }
            #expect(progress.withLock { $0.interrupted } > 0)
            interrupted += progress.withLock { $0.interrupted }
            restarted += progress.withLock { $0.restarted }
        }
        #expect(proxy.cuts >= Self.count)
        print(
            "\(Self.count) answers: \(proxy.cuts) cuts, \(interrupted) interrupted and \(restarted) restarted by kills")
    }

    /// A prompt for a short answer. Every other one is generated again if its server dies.
    private func prompt(_ number: Int) -> Prompt {
        var prompt = Prompt(
            "\(number) one two three four five six seven eight nine ten", in: Conversation.randomName(), model: "echo")
        if number.isMultiple(of: 2) { prompt.onInterrupt = .regenerate }
        return prompt
    }

    /// A prompt whose answer takes an hour and more, so that its server is killed in the middle of it, however slow the test is.
    private func endlessPrompt() -> Prompt {
        Prompt(String(repeating: "on ", count: 3_000), in: Conversation.randomName(), model: "echo:slow")
    }

    /// Reads one answer to its end.
    private func answer(
        to prompt: Prompt, _ client: ChatterClient, _ progress: Monitor<Progress>
    ) async throws -> Answer {
        var last = Answer()
        var hasBegun = false
        func begin() {
            if !hasBegun { progress.withLock { $0.begun += 1 } }
            hasBegun = true
        }
        defer { begin() }
        do {
            for try await answer in client.snapshots(of: prompt) {
                if answer.attempt == last.attempt {
                    #expect(answer.text.utf8.starts(with: last.text.utf8), "\(answer.text) after \(last.text)")
                } else {
                    #expect(answer.attempt == last.attempt + 1)
                }
                last = answer
                if !answer.text.isEmpty { begin() }
            }
            #expect(last.isFinished)
            if last.attempt > 1 { progress.withLock { $0.restarted += 1 } }
        } catch ChatterError.modelFailed(let error) where error.code == "interrupted" && prompt.onInterrupt == nil {
            progress.withLock { $0.interrupted += 1 }
        }
        return last
    }
}
