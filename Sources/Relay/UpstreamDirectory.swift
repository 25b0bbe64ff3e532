import LanguageModels

/// The model servers of a shard, and which of them are asked for which name. Confined to its shard.
///
/// A name is looked for as it is among the models and aliases of all; then as `upstream/model`; then it goes to those that are
/// asked for any name. Those with the greater priority come first, and among equals those that were listed first.
public final class UpstreamDirectory: @unchecked Sendable {
    /// The model servers, in the order in which they are asked.
    public private(set) var upstreams: [Upstream] = []
    /// How often they were replaced.
    private(set) var version = 0

    /// Makes a directory.
    public init(_ upstreams: [Upstream] = []) {
        update(upstreams)
    }

    /// Takes other model servers; answers that are being made go on as they began.
    public func update(_ upstreams: [Upstream]) {
        version += 1
        self.upstreams = upstreams.enumerated().sorted {
            ($1.element.description.priority, $0.offset) < ($0.element.description.priority, $1.offset)
        }.map(\.element)
    }

    /// The servers that may be asked for a model, the first one first; none if there are none at all.
    public func choices(for name: String) -> [UpstreamChoice] {
        let named = upstreams.compactMap { upstream -> UpstreamChoice? in
            let description = upstream.description
            if description.models.contains(name) { return UpstreamChoice(upstream, model: name) }
            return description.aliases[name].map { UpstreamChoice(upstream, model: $0) }
        }
        if !named.isEmpty { return named }
        if let slash = name.firstIndex(of: "/"),
            let upstream = upstreams.first(where: { $0.description.name == name[..<slash] })
        {
            let rest = String(name[name.index(after: slash)...])
            return [UpstreamChoice(upstream, model: upstream.description.aliases[rest] ?? rest)]
        }
        let open = upstreams.filter { $0.description.models.isEmpty }
        return (open.isEmpty ? Array(upstreams.prefix(1)) : open).map { UpstreamChoice($0, model: name) }
    }
}
