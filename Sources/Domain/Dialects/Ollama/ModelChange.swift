/// A request that changes the models of an Ollama.
public enum ModelChange: Sendable, CaseIterable {
    /// Gets a model from a registry of models.
    case pull
    /// Sends a model to a registry of models.
    case push
    /// Makes a model from another one.
    case create
    case copy
    case delete

    /// The members of the body that may name the model. Old clients name it `name`.
    public var modelMembers: [String] { self == .copy ? ["source"] : ["model", "name"] }

    /// Whether the server must have the model before.
    public var needsModel: Bool {
        switch self {
        case .pull, .create: false
        case .push, .copy, .delete: true
        }
    }
}
