import ChatterdBasics
import ChatterdChat

/// A model that clients can ask for.
public struct DoorModel: Sendable, Equatable {
    public var name: String
    /// Its context length in tokens; `nil` if it is unknown.
    public var context: Int?
    /// What an Ollama says of it; `nil` if none has it.
    public var installed: InstalledModel?

    public init(name: String, context: Int? = nil, installed: InstalledModel? = nil) {
        self.name = name
        self.context = context
        self.installed = installed
    }
}

/// Describes models in the form of a door.
public protocol ModelLister: Sendable {
    /// Appends a list of models.
    func append(_ models: [DoorModel], to body: inout ByteBuffer)

    /// Appends the description of a model.
    func append(_ model: DoorModel, to body: inout ByteBuffer)
}
