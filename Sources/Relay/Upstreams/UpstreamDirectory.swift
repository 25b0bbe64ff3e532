import ChatterdBasics
import ChatterdLanguageModels

/// The model servers of a shard, by the names of models. Confined to its shard.
///
/// A name goes to the servers that list it as a model or an alias. Otherwise `server/model` goes to the server of that name if it
/// is configured for the model. Otherwise the name goes to the servers that list no models. An unusable server keeps the names that
/// it lists. The server with the highest priority comes first; equal ones keep the order of the list, and the reply chooses among them.
public final class UpstreamDirectory {
    /// The maximum number of names that an error suggests.
    private static let suggestions = 3
    /// The number of characters of a client's name that an error repeats.
    private static let shownLength = 80

    /// The model servers, those with the highest priority first.
    public private(set) var upstreams: [Upstream] = []
    /// The model servers that this process cannot ask.
    private var unusable: [UnusableUpstream] = []
    /// The number of the current list of servers.
    private(set) var version = 0

    /// The servers by the names that they list.
    private var listed: [String: [ModelTarget]] = [:]
    /// The listed names in their order.
    private var names: [String] = []
    private var byServer: [String: (upstream: Upstream, names: UpstreamNames)] = [:]
    /// The servers that accept any name.
    private var open: [Upstream] = []

    public init(_ upstreams: [Upstream] = [], unusable: [UnusableUpstream] = []) {
        update(upstreams, unusable: unusable)
    }

    /// Replaces the list of model servers. Running answers continue with their server.
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
                listed[name, default: []].append(ModelTarget(upstream, model: model))
            }
        }
    }

    /// The servers for a model, in order; empty if `refusal` gives the reason.
    public func targets(for name: String) -> [ModelTarget] {
        if let listed = listed[name] { return listed }
        guard owner(of: name) == nil else { return [] }
        if let (server, rest) = Self.split(name), let (upstream, names) = byServer[server] {
            return names.model(behindSlash: rest).map { [ModelTarget(upstream, model: $0)] } ?? []
        }
        return open.map { ModelTarget($0, model: name) }
    }

    /// The error if no server can be asked for a model: `unavailable` if an unusable server is configured for it, `modelNotFound`
    /// otherwise.
    public func refusal(of name: String) -> ModelError {
        let shown = name.unicodeScalars.count > Self.shownLength ? "\(name.prefix(Self.shownLength))…" : name
        let hasServer = Self.split(name).map { byServer[$0.server] != nil } ?? false
        if let owner = owner(of: name) ?? (hasServer ? nil : unusable.first { $0.names.takesAnyName }) {
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
            ? "GET /models lists the available models."
            : "Did you mean \(similar.map { "\"\($0)\"" }.joined(separator: " or "))?"
        return ModelError(.modelNotFound, "No model server is configured for the model \"\(shown)\". \(advice)")
    }

    /// The unusable server that owns the name.
    private func owner(of name: String) -> UnusableUpstream? {
        guard !unusable.isEmpty else { return nil }
        if let owner = unusable.first(where: { $0.names.lists(name) }) { return owner }
        guard let (server, rest) = Self.split(name) else { return nil }
        return unusable.first { $0.names.server == server && $0.names.model(behindSlash: rest) != nil }
    }

    /// The candidates for a suggestion.
    private func suggestible(for name: String) -> [String] {
        guard let (server, _) = Self.split(name), let names = byServer[server]?.names else { return names }
        return names.listed.map { "\(server)/\($0)" } + self.names
    }

    private static func split(_ name: String) -> (server: String, rest: String)? {
        guard let slash = name.utf8.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        return (String(name[..<slash]), String(name[name.utf8.index(after: slash)...]))
    }
}
