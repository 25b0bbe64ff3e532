import ChatterdBasics
import ChatterdHTTP
import ChatterdRelay

/// An error of the relay or of the HTTP layer, before a door gives it its form.
public struct DoorFault: Sendable {
    /// The status of chatterd's own API.
    public var status: Status
    /// The code of chatterd's own API.
    public var code: String
    /// A sentence for people.
    public var message: String
    /// The member of the request with the problem, such as `messages[2].content`; `nil` for none.
    public var parameter: String?

    public init(status: Status, code: String, message: String, parameter: String? = nil) {
        self.status = status
        self.code = code
        self.message = message
        self.parameter = parameter
    }

    /// The status of the originals: 400 where chatterd's own API has 422.
    var usualStatus: Status { status == .unprocessableContent ? .badRequest : status }

    /// The fault of an error.
    public init(_ error: RelayError) {
        self.init(
            status: error.code.status, code: error.code.rawValue, message: error.message,
            parameter: error.parameter)
    }
}

extension RelayError {
    /// A request that a door cannot read.
    static func invalid(_ message: String, _ parameter: String? = nil) -> RelayError {
        var error = RelayError(.invalidRequest, message)
        error.parameter = parameter
        return error
    }

    /// A field that neither chatterd nor a model server can express.
    static func unsupported(_ parameter: String, _ reason: String) -> RelayError {
        .invalid("\(parameter) is not supported: \(reason)", parameter)
    }

    /// A value of the wrong type.
    static func wrongType(_ parameter: String, _ noun: String) -> RelayError {
        .invalid("\(parameter) must be \(noun).", parameter)
    }
}
