import Bytes
import LanguageModels

/// The model servers of a shard, and which of them may be asked for which name. Confined to its shard.
///
/// A name goes to the servers that list it, as a model or an alias; else, as `server/model`, to the server of that name if it is
/// configured for the model; else to the servers that list no models. A name that a server lists stays its own while that server
/// cannot be used. Of several servers those with the greater priority come first, and among equals those that were listed first.
public final class UpstreamDirectory: @unchecked Sendable {
    /// The names that an error suggests, at most.
    private static let suggestions = 3
    /// The characters of a client's name that an error repeats.
    private static let shownLength = 80

    /// The model servers, in the order in which they are asked.
    public private(set) var upstreams: [Upstream] = []
    /// Those that cannot be used.
    private var unusable: [UnusableUpstream] = []
    /// How often they were replaced.
    private(set) var version = 0

    /// The servers that list a name.
    private var listed: [String: [UpstreamChoice]] = [:]
    /// The names that are listed, in their order.
    private var names: [String] = []
    private var byServer: [String: (upstream: Upstream, names: UpstreamNames)] = [:]
    /// The servers that take any name.
    private var open: [Upstream] = []

    /// Makes a directory.
    public init(_ upstreams: [Upstream] = [], unusable: [UnusableUpstream] = []) {
        update(upstreams, unusable: unusable)
    }

    /// Takes other model servers; answers that are being made continue with the server that they began with.
    public func update(_ upstreams: [Upstream], unusable: [UnusableUpstream] = []) {
        version += 1
        self.unusable = unusable
        self.upstreams = upstreams.enumerated().sorted {
            ($1.element.description.priority, $0.offset) < ($0.element.description.priority, $1.offset)
        }.map(\.element)
        listed = [:]
        names = []
        byServer = [:]
        open = []
        for upstream in self.upstreams {
            let names = UpstreamNames(upstream.description)
            byServer[names.server] = (upstream, names)
            if names.takesAnyName {
                open.append(upstream)
            }
            for (name, model) in names.all where listed[name]?.last?.upstream !== upstream {
                if listed[name] == nil {
                    self.names.append(name)
                }
                listed[name, default: []].append(UpstreamChoice(upstream, model: model))
            }
        }
    }

    /// The servers that may be asked for a model, the first one first; none when `refusal` says why.
    public func choices(for name: String) -> [UpstreamChoice] {
        if let listed = listed[name] { return listed }
        guard owner(of: name) == nil else { return [] }
        if let (server, rest) = Self.split(name), let (upstream, names) = byServer[server] {
            return names.model(behindSlash: rest).map { [UpstreamChoice(upstream, model: $0)] } ?? []
        }
        return open.map { UpstreamChoice($0, model: name) }
    }

    /// Why no server may be asked for a model: `unavailable` when one is configured for it that this process cannot use,
    /// `modelNotFound` otherwise.
    public func refusal(of name: String) -> ModelError {
        let shown = name.unicodeScalars.count > Self.shownLength ? "\(name.prefix(Self.shownLength))…" : name
        let isOfAServer = Self.split(name).map { byServer[$0.server] != nil } ?? false
        if let owner = owner(of: name) ?? (isOfAServer ? nil : unusable.first { $0.names.takesAnyName }) {
            return ModelError(
                .unavailable,
                "The model server for \"\(shown)\" is not set up: \(owner.reason). Its operator must correct that.",
                detail: "\(owner.names.server): \(owner.detail)")
        }
        guard !upstreams.isEmpty || !unusable.isEmpty else {
            return ModelError(.modelNotFound, "There is no model server.")
        }
        let similar = NearestNames.similar(to: name, among: suggestible(for: name), atMost: Self.suggestions)
        let advice =
            similar.isEmpty
            ? "GET /models lists what can be asked for."
            : "Did you mean \(similar.map { "\"\($0)\"" }.joined(separator: " or "))?"
        return ModelError(.modelNotFound, "No model server is configured for the model \"\(shown)\". \(advice)")
    }

    /// The server that cannot be used, and alone is configured for the name.
    private func owner(of name: String) -> UnusableUpstream? {
        guard !unusable.isEmpty else { return nil }
        if let owner = unusable.first(where: { $0.names.lists(name) }) { return owner }
        guard let (server, rest) = Self.split(name) else { return nil }
        return unusable.first { $0.names.server == server && $0.names.model(behindSlash: rest) != nil }
    }

    /// The names that can be meant by one that is not configured.
    private func suggestible(for name: String) -> [String] {
        guard let (server, _) = Self.split(name), let names = byServer[server]?.names else { return names }
        return names.listed.map { "\(server)/\($0)" } + self.names
    }

    private static func split(_ name: String) -> (server: String, rest: String)? {
        guard let slash = name.firstIndex(of: "/") else { return nil }
        return (String(name[..<slash]), String(name[name.index(after: slash)...]))
    }
}
