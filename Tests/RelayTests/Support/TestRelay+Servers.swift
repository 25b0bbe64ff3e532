import ChatterdChat
import ChatterdRelay

extension TestRelay {
    /// A text that is long enough for another server to continue.
    static let half = "It was a bright cold day in April, and "

    /// A process with model servers of these names, in the order in which they are asked.
    static func withServers(
        _ names: String..., kind: UpstreamDescription.Kind = .ollama, failovers: Int = 4, rescues: Int = 2,
        restartWait: Duration = .zero, slots: MemorySlots? = nil,
        _ describe: (inout UpstreamDescription) -> Void = { _ in }
    ) -> (relay: TestRelay, models: [ScriptedModel]) {
        let relay = TestRelay(failovers: failovers, rescues: rescues, restartWait: restartWait, slots: slots)
        let models = names.map { _ in ScriptedModel() }
        relay.service.upstreams.update(
            zip(names, models).enumerated().map { index, server in
                let (name, model) = server
                var description = UpstreamDescription(name: name, kind: kind)
                description.priority = -index
                describe(&description)
                return Upstream(description, model: model, health: UpstreamHealth())
            })
        return (relay, models)
    }
}
