/// The reason why a request of a door failed, before a door gives it its form.
public struct DoorFault: Error, Sendable, Equatable {
    /// The status of chatterd's own API.
    public var status: Int
    /// The code of chatterd's own API.
    public var code: String
    /// A sentence for people.
    public var message: String
    /// The member of the request with the problem, such as `messages[2].content`; `nil` for none.
    public var parameter: String?

    public init(status: Int, code: String, message: String, parameter: String? = nil) {
        self.status = status
        self.code = code
        self.message = message
        self.parameter = parameter
    }

    /// A request that the door cannot read.
    static func invalid(_ message: String, _ parameter: String? = nil) -> DoorFault {
        DoorFault(status: 400, code: "invalid_request", message: message, parameter: parameter)
    }

    /// A field that neither chatterd nor a model server can express.
    static func unsupported(_ parameter: String, _ reason: String) -> DoorFault {
        .invalid("\(parameter) is not supported: \(reason)", parameter)
    }

    /// A value of the wrong type.
    static func wrongType(_ parameter: String, _ noun: String) -> DoorFault {
        .invalid("\(parameter) must be \(noun).", parameter)
    }
}
