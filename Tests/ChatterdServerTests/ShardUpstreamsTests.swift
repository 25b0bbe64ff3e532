import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdRelay
import ChatterdSockets
import ChatterdTestSupport
import Testing

@testable import ChatterdCommand
@testable import ChatterdConfiguration
@testable import ChatterdDevelopmentCluster
@testable import ChatterdJSONLog
@testable import ChatterdPostgresStore
@testable import ChatterdServer

/// The model servers as a shard has them.
@Suite(.timeLimit(.minutes(30))) struct ShardUpstreamsTests {
    @Test func aListThatHasNotChangedLeavesTheSurveyUnderWayAlone() async throws {
        let gate = Gate()
        let server = try ScriptedUpstream(
            probing: { _ in [.wait(for: gate)] + .plain(200, "{\"models\":[]}") }, { _ in [] })
        let prepared = try PreparedUpstream(
            UpstreamDescription(name: "a", kind: .ollama, url: server.url),
            keys: UpstreamKeys())
        let shard = try Shard(index: 0)
        let upstreams = ShardUpstreams(
            UpstreamFactory(shard: shard, idleConnections: 0), estimates: TokenEstimates())
        await Task(executorPreference: shard) { upstreams.take([prepared]) }.value
        let listings = Task(executorPreference: shard) {
            await upstreams.survey.listings(of: upstreams.directory).count
        }
        try await onThread { try eventually("it is asked") { server.probes.count == 1 } }
        // The registry looks as often as a survey may take: who waits would wait for ever.
        await Task(executorPreference: shard) { upstreams.take([prepared]) }.value
        gate.open()
        #expect(await listings.value == 1)
        #expect(server.probes.count { $0.path == "/api/tags" } == 1)

        // Another list is asked anew.
        await Task(executorPreference: shard) { upstreams.take([]) }.value
        let none = await Task(executorPreference: shard) {
            await upstreams.survey.listings(of: upstreams.directory).count
        }.value
        #expect(none == 0)
    }
}
