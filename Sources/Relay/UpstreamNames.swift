import LanguageModels

/// The names of models that a server is configured for. It is asked for no others.
public struct UpstreamNames: Sendable, Equatable {
    /// The server's own name; `server/model` names a model of this server alone.
    let server: String
    /// The models that it lists; empty for a server that takes any name that no other one lists.
    let models: [String]
    /// Other names, and the models that they stand for.
    let aliases: [String: String]
    private let isEcho: Bool

    /// Reads the names off a description.
    public init(_ description: UpstreamDescription) {
        server = description.name
        isEcho = description.kind == .echo
        // The built-in model answers to its server's name and takes no others: it would answer in place of a real one.
        models = isEcho && description.models.isEmpty ? [description.name] : description.models
        aliases = description.aliases
    }

    /// Makes the names of a server whose description cannot be read: only its own is known.
    public init(server: String) {
        self.server = server
        isEcho = false
        models = []
        aliases = [:]
    }

    /// Whether the server takes any name that no other one lists.
    public var takesAnyName: Bool { models.isEmpty }

    /// All names with the models that they stand for, in a fixed order.
    var all: [(name: String, model: String)] {
        models.map { ($0, $0) } + aliases.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// All names, in a fixed order.
    public var listed: [String] { all.map(\.name) }

    /// Whether a model or an alias has this name.
    func lists(_ name: String) -> Bool { aliases[name] != nil || models.contains(name) }

    /// The model that is meant by what stands behind `server/`; `nil` when the server is not configured for it.
    func model(behindSlash rest: String) -> String? {
        if let model = aliases[rest] { return model }
        return takesAnyName || isEcho || models.contains(rest) ? rest : nil
    }
}
