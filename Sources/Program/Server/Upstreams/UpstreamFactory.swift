import ChatterdBasics
import ChatterdChat
import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdModelServers
import ChatterdRelay
import ChatterdSockets

/// Makes the model servers of a shard.
public struct UpstreamFactory: Sendable {
    let shard: Shard
    private let idleConnections: Int
    private let listing: Duration

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

    /// Makes the shard's side of a model server, with its own connections.
    public func make(_ resolved: ResolvedUpstream) -> Upstream {
        let description = resolved.description
        guard let origin = resolved.origin else {
            let model = EchoModel(shard: shard, now: WallClock.nanoseconds)
            return Upstream(description, model: Confined(model, to: shard), health: resolved.health)
        }
        var limits = HTTPClientLimits()
        limits.idleConnections = idleConnections
        limits.connect = description.connectTimeout
        limits.allowsLinkLocal = description.allowsLinkLocal
        let client = HTTPClient(shard: shard, limits: limits, tls: resolved.authorities)
        let model = UpstreamModel(
            description, origin: origin, key: resolved.key?.value, client: client, shard: shard,
            listing: listing, now: WallClock.nanoseconds)
        return Upstream(description, model: Confined(model, to: shard), health: resolved.health)
    }
}
