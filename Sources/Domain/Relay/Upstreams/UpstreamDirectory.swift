import ChatterdBasics
import ChatterdChat

/// The model servers of a shard, by the names of models. Confined to its shard.
///
/// A name goes to the servers that are configured for it as a model or an alias. Otherwise `server/model` goes to the server of that name if it
/// is configured for the model. Otherwise the name goes to the servers without configured models: to those that list it, or else to those of
/// which no list is known. An unusable server keeps the names that it is configured for. The server with the highest priority comes first;
/// equal ones keep the order of the list, and the reply chooses among them.
public final class UpstreamDirectory {
    /// What a server has answered when it was asked for its models.
    public enum Answer: Equatable, Sendable {
        /// The names of its models.
        case names(Set<String>)
        /// It has no list, or an empty one.
        case none
        /// An error, or a list that cannot be read. It keeps the names of its last list.
        case failed
        /// It did not answer. It keeps the names of its last list.
        case unreachable
    }

    /// A server without configured models, which accepts any name.
    private struct OpenServer {
        let upstream: Upstream
        /// The newest answer; `nil` until it is asked.
        var answer: Answer?
        /// The names of its newest list; `nil` if it has given none.
        var names: Set<String>?

        /// Whether it may have any model: it answers, and not with a list.
        var isUnlisted: Bool { names == nil && answer != .unreachable }

        /// Its names as people write them, in order: Ollama adds the tag.
        var suggestions: [String] {
            (names ?? []).map { $0.hasSuffix(":latest") ? String($0.unicodeScalars.dropLast(":latest".count)) : $0 }
                .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        }

        /// Whether its newest list has the model. Ollama adds the tag `latest` to a name without a tag, in each of its APIs.
        func lists(_ name: String) -> Bool {
            guard let names else { return false }
            return names.contains(name) || !name.contains(":") && names.contains("\(name):latest")
        }

        mutating func learn(_ answer: Answer) {
            self.answer = answer
            switch answer {
            case .names(let names): self.names = names
            case .none: names = nil
            case .failed, .unreachable: break
            }
        }
    }

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
    private var open: [OpenServer] = []
    /// Whether a request had a model that its server is not known to have.
    private var missesModel = false
    /// Whether another server than the built-in one is configured for models.
    private var hasConfiguredModels = false
    /// Asks the servers for their models, and reports the answers with `learn`; `nil` in a directory that does not use lists.
    public var askForModels: (() async -> Void)?
    /// Does so in the background, if the answers are old.
    public var refreshModels: (() -> Void)?

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
        let known = open
        open = []
        hasConfiguredModels = false
        for upstream in self.upstreams {
            let names = UpstreamNames(upstream.description)
            byServer[names.server] = (upstream, names)
            if names.takesAnyName {
                open.append(known.first { $0.upstream === upstream } ?? OpenServer(upstream: upstream))
            } else if upstream.description.kind != .echo {
                hasConfiguredModels = true
            }
            for (name, model) in names.all where listed[name]?.last?.upstream !== upstream {
                if listed[name] == nil {
                    self.names.append(name)
                }
                listed[name, default: []].append(ModelTarget(upstream, model: model))
            }
        }
    }

    // MARK: - Lists of models

    /// Records what a server has answered when it was asked for its models.
    public func learn(_ answer: Answer, of upstream: Upstream) {
        guard let index = open.firstIndex(where: { $0.upstream === upstream }), open[index].answer != answer else {
            return
        }
        open[index].learn(answer)
        version += 1
    }

    /// Asks the servers for their models if which of them has this one depends on that. Call it for a new request, before `targets`.
    public func prepare(for name: String) async {
        guard depends(onListsFor: name) else { return }
        // A list that changes meanwhile decides the next requests.
        refreshModels?()
        guard needsLists(for: name), let askForModels else { return }
        await askForModels()
    }

    /// Asks the servers for their models again, as one of them does not have a model that it lists.
    func refresh(after name: String) {
        if depends(onListsFor: name) { refreshModels?() }
    }

    /// Whether the servers without configured models may get a name, and differ.
    func depends(onListsFor name: String) -> Bool {
        hasChoice && askForModels != nil && listed[name] == nil && owner(of: name) == nil
            && Self.split(name).map { byServer[$0.server] == nil } ?? true
    }

    /// Whether the known lists do not say who has a model: no server is known to list it, and each may do so by now.
    private func needsLists(for name: String) -> Bool {
        !open.contains { $0.lists(name) }
            && (open.contains { $0.answer == nil } || !open.contains(where: \.isUnlisted))
    }

    /// Whether a server was never asked, though it may have a model: a reply of another process or event loop continues here.
    func needsFirstLists(for name: String) -> Bool {
        depends(onListsFor: name) && !open.contains { $0.lists(name) } && open.contains { $0.answer == nil }
    }

    /// Whether it matters which models the servers list: a single server knows best which names it accepts.
    private var hasChoice: Bool { open.count > 1 || open.count == 1 && hasConfiguredModels }

    /// The servers without configured models that may have a model: those that list it, or else those that list nothing, or else those that
    /// could not be asked yet.
    private func openServers(for name: String) -> [OpenServer] {
        guard hasChoice else { return open }
        for group in [open.filter { $0.lists(name) }, open.filter(\.isUnlisted)] where !group.isEmpty {
            return group
        }
        return open.filter { $0.names == nil }
    }

    /// The error for a new request if no server can be asked for a model, or if only servers might have it that cannot be reached, while others
    /// can: `unavailable` then. `nil` if a server can be asked.
    public func refusalOfRequest(for name: String) -> ModelError? {
        let targets = targets(for: name)
        guard !targets.isEmpty else { return refusal(of: name) }
        guard depends(onListsFor: name) else { return nil }
        let away = open.filter { $0.names == nil && $0.answer == .unreachable }
        let hasOthers = hasConfiguredModels || open.contains { $0.names != nil && $0.answer != .unreachable }
        guard hasOthers,
            targets.allSatisfy({ target in away.contains { $0.upstream === target.upstream } })
        else { return nil }
        let names = away.map { "\"\($0.upstream.description.name)\"" }.joined(separator: " and ")
        return ModelError(
            .unavailable,
            "No model server that can be reached has the model \"\(Self.shown(name))\". \(advice(for: name)) \(names) cannot be reached, and "
                + "may have it.")
    }

    // MARK: - Names

    /// The servers for a model, in order; empty if `refusal` gives the reason.
    public func targets(for name: String) -> [ModelTarget] {
        if let listed = listed[name] { return listed }
        guard owner(of: name) == nil else { return [] }
        if let (server, rest) = Self.split(name), let (upstream, names) = byServer[server] {
            return names.model(behindSlash: rest).map { [ModelTarget(upstream, model: $0)] } ?? []
        }
        return openServers(for: name).map { ModelTarget($0.upstream, model: name) }
    }

    /// The name of a model for metrics: that of a model which its server is configured for or lists, else `other`. A client may choose any
    /// other name.
    func knownModel(of target: ModelTarget) -> String {
        let isKnown =
            byServer[target.upstream.description.name]?.names.hasModel(target.model) == true
            || open.contains { $0.upstream === target.upstream && $0.lists(target.model) }
        missesModel = missesModel || !isKnown
        return isKnown ? target.model : "other"
    }

    /// Asks the servers for their models in the background, if a request had a model that no list has. The next replies then have its name.
    public func refreshIfModelIsMissing() {
        guard missesModel else { return }
        missesModel = false
        refreshModels?()
    }

    /// The error if no server can be asked for a model: `unavailable` if an unusable server is configured for it, `modelNotFound`
    /// otherwise.
    public func refusal(of name: String) -> ModelError {
        let shown = Self.shown(name)
        if let owner = owner(of: name) ?? (isQualified(name) ? nil : unusable.first { $0.names.takesAnyName }) {
            return ModelError(
                .unavailable,
                "The model server for \"\(shown)\" is not set up: \(owner.reason). Its operator must correct that.",
                detail: "\(owner.names.server): \(owner.detail)")
        }
        guard !upstreams.isEmpty || !unusable.isEmpty else {
            return ModelError(.modelNotFound, "There is no model server.")
        }
        return ModelError(.modelNotFound, "No model server has the model \"\(shown)\". \(advice(for: name))")
    }

    private static func shown(_ name: String) -> String {
        name.unicodeScalars.count > shownLength ? "\(name.prefix(shownLength))…" : name
    }

    /// Where another name can be found.
    private func advice(for name: String) -> String {
        let similar = NearestNames.similar(to: name, among: suggestible(for: name), atMost: Self.suggestions)
        guard !similar.isEmpty else { return "GET /models lists the available models." }
        return "Did you mean \(similar.map { "\"\($0)\"" }.joined(separator: " or "))?"
    }

    /// The unusable server that owns the name.
    private func owner(of name: String) -> UnusableUpstream? {
        guard !unusable.isEmpty else { return nil }
        if let owner = unusable.first(where: { $0.names.lists(name) }) { return owner }
        guard let (server, rest) = Self.split(name) else { return nil }
        return unusable.first { $0.names.server == server && $0.names.model(behindSlash: rest) != nil }
    }

    /// Whether a name begins with that of a server and a slash.
    public func isQualified(_ name: String) -> Bool { Self.split(name).map { byServer[$0.server] != nil } ?? false }

    /// The candidates for a suggestion.
    private func suggestible(for name: String) -> [String] {
        let unknown = ExactText(name)
        let all = (names + open.flatMap(\.suggestions)).filter { ExactText($0) != unknown }
        guard let (server, _) = Self.split(name), let names = byServer[server]?.names else { return all }
        return names.listed.map { "\(server)/\($0)" } + all
    }

    private static func split(_ name: String) -> (server: String, rest: String)? {
        guard let slash = name.utf8.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        return (String(name[..<slash]), String(name[name.utf8.index(after: slash)...]))
    }
}

/// A listed model server that this process cannot ask, for example because its key is missing.
///
/// The server keeps its names: prompts for them fail, and do not go to another server that does not list them.
public struct UnusableUpstream: Sendable, Equatable {
    let names: UpstreamNames
    /// The reason for clients, as part of a sentence, without addresses and secrets.
    let reason: String
    /// The reason for the operator; only the log has it.
    let detail: String

    public init(_ names: UpstreamNames, reason: String, detail: String) {
        self.names = names
        self.reason = reason
        self.detail = detail
    }
}
