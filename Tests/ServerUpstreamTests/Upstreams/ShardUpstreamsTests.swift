import ChatterdBasics
import ChatterdChat
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
@testable import ChatterdServerTestSupport

/// The model servers of a shard.
@Suite(.timeLimit(.minutes(30))) struct ShardUpstreamsTests {
    @Test func unchangedListDoesNotInterruptTheRequestForModels() async throws {
        let gate = Gate()
        let server = try ScriptedUpstream(
            probing: { _ in [.wait(for: gate)] + .plain(200, "{\"models\":[]}") }, { _ in [] })
        let resolved = try ResolvedUpstream(
            UpstreamDescription(name: "a", kind: .ollama, url: server.url),
            keys: UpstreamKeys())
        let shard = try Shard(index: 0)
        let upstreams = Confined(
            ShardUpstreams(UpstreamFactory(shard: shard, idleConnections: 0), estimates: TokenEstimates()), to: shard)
        await Task(executorPreference: shard) { upstreams.value.replace([resolved]) }.value
        let listings = Task(executorPreference: shard) {
            await upstreams.value.modelLists.listings(of: upstreams.value.directory).count
        }
        try await onThread { try eventually("it is asked") { server.probes.count == 1 } }
        // The registry replaces the list as often as a model server may take to answer.
        await Task(executorPreference: shard) { upstreams.value.replace([resolved]) }.value
        gate.open()
        #expect(await listings.value == 1)
        #expect(server.probes.count { $0.path == "/api/tags" } == 1)

        // A changed list is asked again.
        await Task(executorPreference: shard) { upstreams.value.replace([]) }.value
        let none = await Task(executorPreference: shard) {
            await upstreams.value.modelLists.listings(of: upstreams.value.directory).count
        }.value
        #expect(none == 0)
    }
}
