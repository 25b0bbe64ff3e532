import ChatterdBasics
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdRelay

extension Responder {
    /// The door of the request; `nil` for chatterd's own paths.
    var door: Door? { Door(rawValue: errorForm) }

    /// The error in the words of the door's original, if clients compare them.
    func worded(_ error: RelayError, model: String) -> RelayError {
        guard let message = door?.dialect.message(of: error.code.rawValue, model: model) else { return error }
        var worded = RelayError(error.code, message, detail: error.detail.isEmpty ? error.message : error.detail)
        worded.retryAfter = error.retryAfter
        return worded
    }

    /// Tells the operator what chatterd ignores of a request.
    ///
    /// - Returns: the fields of the response, which tell the client.
    func tell(_ ignored: IgnoredMembers, _ fields: Fields = [:]) -> Fields {
        guard let paths = ignored.text else { return fields }
        annotate(Annotation.ignored, paths)
        var fields = fields
        if let value = FieldValue(validating: paths) { fields.add(.xIgnoredMembers, value) }
        return fields
    }

    /// The lister of the door of the request, if that has one for all paths.
    func lister(unless lister: any ModelLister) -> any ModelLister { door?.dialect.models ?? lister }
}

extension DoorFault {
    /// The fault of a refusal of the HTTP layer.
    init(_ refusal: Refusal) {
        self.init(status: refusal.status, code: refusal.code, message: refusal.message)
    }
}

extension Door {
    /// The door that a request comes to; `nil` for chatterd's own paths.
    init?(_ head: RequestHead) {
        self.init(path: head.target.path, namesAnthropic: head.fields.contains(.anthropicVersion))
    }

    /// The status and the JSON of a refusal of the HTTP layer.
    func answer(to refusal: Refusal) -> (status: Status, body: ByteBuffer) {
        var body = ByteBuffer()
        let status = dialect.append(DoorFault(refusal), to: &body)
        body.append("\n")
        return (status, body)
    }
}
