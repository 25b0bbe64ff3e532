import ChatterdBasics

/// Describes models in the form of a door.
public protocol ModelLister: Sendable {
    /// Appends a list of models.
    func append(_ models: [DoorModel], to body: inout ByteBuffer)

    /// Appends the description of a model.
    func append(_ model: DoorModel, to body: inout ByteBuffer)
}
