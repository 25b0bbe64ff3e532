/// A model that a server says it has.
public struct ModelDescription: Sendable, Equatable {
    /// Its name there.
    public var name: String
    /// The tokens that it takes, prompt and answer together, if the server says so.
    public var contextLength: Int?

    /// Makes a description.
    public init(name: String, contextLength: Int? = nil) {
        self.name = name
        self.contextLength = contextLength
    }
}
