/// A model in the list of a model server.
public struct ModelDescription: Sendable, Equatable {
    /// Its name on that server.
    public var name: String
    /// Its context length, prompt and answer together, in tokens; `nil` if the server does not report it.
    public var contextLength: Int?
    /// What an Ollama says of it; `nil` for servers of other kinds.
    public var installed: InstalledModel?
    /// Whether it generates text; `false` for a model of embeddings, if its server says so.
    public var canChat: Bool

    public init(
        name: String, contextLength: Int? = nil, installed: InstalledModel? = nil, canChat: Bool = true
    ) {
        self.name = name
        self.contextLength = contextLength
        self.installed = installed
        self.canChat = canChat
    }
}
