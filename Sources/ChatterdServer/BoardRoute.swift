import Bytes
import HTTP
import HTTPServer
import Relay

/// `POST /postchatt` and `GET /getchatts`: docs/api.md.
struct BoardRoute: Sendable {
    let services: [ShardServices]

    /// Stores a posting.
    @Sendable func post(_ request: Request, _ responder: Responder) async {
        do throws(RelayError) {
            try request.requireJSON(like: #"{"name":"ada","message":"Hello, board"}"#)
            let posting = try Posting(decoding: request.body.span)
            try await services[request].board.post(name: posting.name, message: posting.message)
            responder.respondEmptyObject()
        } catch {
            responder.refuse(error)
        }
    }

    /// Lists the newest postings, oldest first.
    @Sendable func list(_ request: Request, _ responder: Responder) async {
        do throws(RelayError) {
            var body = ByteBuffer()
            try await services[request].board.appendList(to: &body)
            responder.respond(json: body)
        } catch {
            responder.refuse(error)
        }
    }
}

/// The body of `POST /postchatt`: `{"name":...,"message":...}`, or `username` as clients of 2025 have it.
struct Posting {
    /// The longest name, in characters.
    static let nameLimit = 155

    private(set) var name = ""
    private(set) var message = ""

    init(decoding body: Span<UInt8>) throws(RelayError) {
        var name: String?
        var message: String?
        do throws(JSONError) {
            try JSONReader.validate(body)
            var reader = JSONReader(body)
            try reader.beginObject()
            while let key = try reader.nextKey() {
                let isName = reader.matches(key, "name") || reader.matches(key, "username")
                let isMessage = reader.matches(key, "message")
                if isName || isMessage, try reader.kind() == .string {
                    let text = String(decodingJSON: body.extracting(try reader.string().range))
                    if isName {
                        name = text
                    } else {
                        message = text
                    }
                } else {
                    try reader.skipValue()
                }
            }
        } catch {
            throw RelayError(.invalidRequest, "The body is not a JSON object with name and message: \(error)")
        }
        guard let name, !name.isEmpty, name.count <= Self.nameLimit else {
            throw RelayError(
                .invalidRequest, "name (or username) must be a string of 1 to \(Self.nameLimit) characters.")
        }
        guard let message else {
            throw RelayError(.invalidRequest, "message must be a string.")
        }
        self.name = name
        self.message = message
    }
}
