import ChatterdBasics
import ChatterdChat

/// The names of models that a server is configured for. The server gets requests for these only.
public struct UpstreamNames: Sendable, Equatable {
    /// The server's own name. `server/model` is a model of this server.
    let server: String
    /// The listed models; empty for a server that accepts any name that no other server lists.
    let models: [String]
    /// The aliases and their models.
    let aliases: [String: String]
    private let isEcho: Bool

    /// Creates the names of a description.
    public init(_ description: UpstreamDescription) {
        server = description.name
        isEcho = description.kind == .echo
        // The built-in model accepts only its server's name, because it must not answer in place of a real model.
        models = isEcho && description.models.isEmpty ? [description.name] : description.models
        aliases = description.aliases
    }

    /// Creates the names of a server with an unreadable description: only its own name is known.
    public init(server: String) {
        self.server = server
        isEcho = false
        models = []
        aliases = [:]
    }

    /// Whether the server accepts any name that no other server lists.
    public var takesAnyName: Bool { models.isEmpty }

    /// All names and their models, in a fixed order.
    var all: [(name: String, model: String)] {
        models.map { ($0, $0) } + aliases.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// All names, in a fixed order.
    public var listed: [String] { all.map(\.name) }

    /// Whether a model or an alias has this name.
    func lists(_ name: String) -> Bool { aliases[name] != nil || models.contains(name) }

    /// Whether the server is configured for a model, by its name there.
    func hasModel(_ model: String) -> Bool {
        models.contains(model) || aliases.values.contains { $0 == model }
    }

    /// The model behind `server/`; `nil` if the server is not configured for it.
    func model(behindSlash rest: String) -> String? {
        if let model = aliases[rest] { return model }
        return takesAnyName || isEcho || models.contains(rest) ? rest : nil
    }
}
