/// The reason why bytes are not a usable key.
public struct KeyError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The closed set of reasons.
    public enum Code: String, Sendable, CaseIterable {
        /// A member has not the number of bytes that the kind of key needs.
        case wrongSize = "wrong_size"
        /// The key is too short to be safe, or so long that a verification takes too much time.
        case refusedSize = "refused_size"
        /// The bytes are not a key.
        case invalid
    }

    /// The reason for machines.
    public let code: Code
    /// The reason for the operator: a sentence without bytes of the key.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The code and the sentence.
    public var description: String { "\(code.rawValue): \(message)" }
}
