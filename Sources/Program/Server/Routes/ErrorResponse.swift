import ChatterdBasics
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdRelay

extension Responder {
    /// Answers with an error as JSON, in the form of the request's door if it came to one. A 503 and a 429 have `Retry-After`. An
    /// exceeded limit has its numbers, and a busy conversation its running reply, as members and fields.
    func refuse(_ error: RelayError, fields: Fields = [:]) {
        annotate(error)
        var fields = fields
        fields.set(.contentType, "application/json")
        if error.code == .access(.unauthorized) {
            fields.set(.wwwAuthenticate, "Bearer")
        }
        if [.serviceUnavailable, .tooManyRequests].contains(error.code.status) {
            fields.set(.retryAfter, FieldValue(max(1, Int(error.retryAfter?.components.seconds ?? 1))))
        }
        let location = error.reply.map { "/replies/\($0)" }
        if let location, let value = FieldValue(validating: location) {
            fields.set(.location, value)
        }
        if let exceeded = error.exceeded {
            fields.add(exceeded.quota)
        }
        var body = ByteBuffer()
        if let dialect = door?.dialect {
            let status = dialect.append(DoorFault(error), to: &body)
            respond(status, json: body, fields: fields)
            return
        }
        body.appendJSON { json in
            json.object { json in
                json.member("error", error.message)
                json.member("code", error.code.rawValue)
                json.member("retryable", error.code.isRetryable)
                json.member("reply", error.reply?.description)
                json.member("location", location)
                if let exceeded = error.exceeded {
                    json.member("limit", exceeded.name.rawValue)
                    json.member("maximum", exceeded.maximum)
                    json.member("remaining", exceeded.remaining)
                    json.member("reset", exceeded.reset)
                }
            }
        }
        respond(error.code.status, json: body, fields: fields)
    }

    /// Adds an error to the log record of the request.
    func annotate(_ error: RelayError) {
        annotate(Annotation.code, error.code.rawValue)
        if !error.detail.isEmpty {
            annotate(Annotation.detail, error.detail)
        }
    }

    /// Sends a JSON text and a line end, with its `Server-Timing`; `memory` is the reservation of a large one.
    func respond(
        _ status: Status = .ok, json: consuming ByteBuffer, fields: Fields = [:], timing: ServerTiming? = nil,
        memory: MemoryReservation? = nil
    ) {
        var fields = fields
        var timing = timing ?? ServerTiming()
        timing.add("total", elapsed)
        fields.add(.serverTiming, timing.value)
        fields.set(.contentType, "application/json")
        json.append("\n")
        respond(status, fields: fields, body: json, memory: memory)
    }

    /// Answers 200 with `{}`.
    func respondEmptyObject(fields: Fields = [:]) {
        var body = ByteBuffer()
        body.append("{}")
        respond(json: body, fields: fields)
    }
}

extension Refusal {
    /// The error as a refusal of the HTTP layer.
    init(_ error: RelayError, fields: Fields = [:]) {
        var fields = fields
        if error.code == .access(.unauthorized) {
            fields.set(.wwwAuthenticate, "Bearer")
        }
        self.init(error.code.status, code: error.code.rawValue, message: error.message, fields: fields)
    }
}
