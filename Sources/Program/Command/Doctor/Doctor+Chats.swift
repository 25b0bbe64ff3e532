import ChatterdBasics
import ChatterdChat
import ChatterdConfiguration
import ChatterdServer
import ChatterdSockets

extension Doctor {
    /// The time to the first words from which on people wait.
    private static let longWait = Duration.seconds(5)

    /// Has the models of a server answer a few words: those of its description, or the first one that it lists. That spends tokens.
    static func chats(_ subject: String, _ prepared: ResolvedUpstream) async -> [Check] {
        let shard: Shard
        do throws(SocketError) {
            shard = try Shard(index: 0)
        } catch {
            return [.wrong(.chat, of: subject, "it cannot be asked: \(error)", advice: "raise the limit on open files")]
        }
        let factory = UpstreamFactory(shard: shard, idleConnections: 0, listing: CommandProbe.limit)
        let models = prepared.description.models
        var checks: [Check] = []
        for model in models.isEmpty ? [nil] : models.map(Optional.some) {
            // The task creates, uses and releases the model server on the shard.
            let outcome = await Task(executorPreference: shard) {
                await UpstreamProbe.run(factory.make(prepared), model: model, toTheEnd: true, on: shard)
            }.value
            checks.append(chat(subject, outcome))
        }
        return checks
    }

    private static func chat(_ subject: String, _ outcome: UpstreamProbe.Outcome) -> Check {
        let subject = "\(subject), model \(SettingText.excerpt(outcome.model ?? "none"))"
        if let problem = outcome.problem {
            return .wrong(.chat, of: subject, problem, advice: "see the log of the model server")
        }
        guard let time = outcome.firstWords else { return .fine(.chat, of: subject, "it answers, without words") }
        guard time < longWait else {
            return .doubtful(
                .chat, of: subject, "its first words took \(time.inTenths)",
                advice: "keep the model loaded, or give the server less to do: clients wait as long")
        }
        return .fine(.chat, of: subject, "its first words took \(time.inTenths)")
    }
}

extension Duration {
    /// Seconds, for people.
    var inTenths: String {
        let tenths = nanoseconds / 100_000_000
        return "\(tenths / 10).\(tenths % 10) s"
    }
}
