import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdJSONLog
import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// Makes what a shard asks model servers with.
public struct UpstreamFactory: Sendable {
    let shard: Shard
    /// Idle connections that are kept for each model server.
    let idleConnections: Int
    /// How long a model server may take to list its models.
    let listing: Duration

    /// Creates the factory of a shard.
    ///
    /// - Parameters:
    ///   - idleConnections: the number of idle connections for each model server.
    ///   - listing: the timeout for a list of models.
    public init(shard: Shard, idleConnections: Int, listing: Duration = Configuration.FixedTimeouts().modelListing) {
        self.shard = shard
        self.idleConnections = idleConnections
        self.listing = listing
    }

    /// Makes the shard's side of a model server, with connections of its own.
    public func make(_ prepared: PreparedUpstream) -> (upstream: Upstream, generator: Generator?) {
        let description = prepared.description
        guard let origin = prepared.origin else {
            let model = EchoModel(shard: shard, now: WallClock.nanoseconds)
            return (Upstream(description, model: model, health: prepared.health), nil)
        }
        var limits = HTTPClientLimits()
        limits.idleConnections = idleConnections
        limits.connect = description.connectTimeout
        limits.allowsLinkLocal = description.allowsLinkLocal
        let client = HTTPClient(shard: shard, limits: limits, tls: prepared.authorities)
        let model = UpstreamModel(
            description, origin: origin, key: prepared.key?.value, client: client, shard: shard,
            listing: listing, now: WallClock.nanoseconds)
        let generator =
            description.kind == .ollama
            ? Generator(
                client: client, origin: origin, fields: model.fields, limits: description.limits,
                key: prepared.key?.value) : nil
        return (Upstream(description, model: model, health: prepared.health), generator)
    }
}
