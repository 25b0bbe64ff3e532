/// The reason why a text is not a schema that can be read.
public struct JSONSchemaError: Error, Equatable, Sendable {
    /// The reason, as the end of a sentence about the schema.
    public let reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}

/// A place of a value that does not have the form of its schema.
public struct JSONSchemaViolation: Error, Equatable, Sendable {
    /// The limit of a pointer, in bytes; more of it becomes "…".
    static let maximumPointer = 256

    /// The JSON Pointer of the place (RFC 6901); empty for the whole value.
    public var pointer: String
    /// The keyword that is violated; empty if the text could not be read or the check took too long.
    public let keyword: String
    /// The reason, as the end of a sentence about the value.
    public let reason: String

    /// Whether the check has ended for lack of steps: it does not know whether the value fits.
    public let isForLackOfSteps: Bool

    init(_ reason: String, keyword: String = "", pointer: String = "", isForLackOfSteps: Bool = false) {
        self.pointer = pointer
        self.keyword = keyword
        self.reason = reason
        self.isForLackOfSteps = isForLackOfSteps
    }

    static let tooManySteps = JSONSchemaViolation(
        "takes too many steps, so that it cannot be checked", isForLackOfSteps: true)

    /// The place and the reason in a sentence.
    public var sentence: String { "\(pointer.isEmpty ? "The answer" : "The value at \(pointer)") \(reason)." }
}
