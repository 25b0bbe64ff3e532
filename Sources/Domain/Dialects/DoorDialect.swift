import ChatterdBasics
import ChatterdHTTP

/// The form in which clients of a door speak. Pure: no I/O and no clock.
public protocol DoorDialect: Sendable {
    /// The paths of the door.
    var endpoints: [DoorEndpoint] { get }

    /// Appends the JSON object of a fault, and returns the status with which the door reports it.
    @discardableResult func append(_ fault: DoorFault, to body: inout ByteBuffer) -> Status

    /// The sentence of an error code, if clients compare that of the original; `nil` for chatterd's own.
    func message(of code: String, model: String) -> String?

    /// The form of models for all paths, also of another door; `nil` for the form of each path.
    var models: (any ModelLister)? { get }
}

extension DoorDialect {
    func message(of code: String, model: String) -> String? { nil }
    var models: (any ModelLister)? { nil }
}
