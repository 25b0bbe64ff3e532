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
            let body = request.body.bytes
            let posting = try Posting(decoding: body.span)
            try await services[request].board.post(name: posting.name, message: posting.message)
            responder.respondEmptyObject()
        } catch {
            responder.refuse(error)
        }
    }

    /// Lists the newest postings, oldest first.
    @Sendable func list(_ request: Request, _ responder: Responder) async {
        guard request.method != .head else {
            // RFC 9110 9.3.2: a HEAD response may omit a length that is known only after the content is generated.
            responder.stream(.ok, fields: [.contentType: "application/json"]).finish()
            return
        }
        do throws(RelayError) {
            let list = try await services[request].board.list()
            responder.respond(json: list.json, memory: list.memory)
        } catch {
            responder.refuse(error)
        }
    }
}

/// The body of `POST /postchatt`: `{"name":...,"message":...}`, or `username` as clients of 2025 have it.
struct Posting {
    /// The longest name, in characters.
    static let nameLimit = 155
    /// The maximum size of a name in bytes of UTF-8, because a character may have any number of combining marks.
    static let nameBytesLimit = 1_024
    /// The maximum size of a message in bytes of UTF-8.
    static let messageLimit = 16 * 1_024

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
        guard let name, !name.isEmpty, name.utf8.count <= Self.nameBytesLimit,
            name.count <= Self.nameLimit
        else {
            throw RelayError(
                .invalidRequest,
                "name (or username) must be a string of 1 to \(Self.nameLimit) characters and at most "
                    + "\(Self.nameBytesLimit) bytes.")
        }
        guard let message else {
            throw RelayError(.invalidRequest, "message must be a string.")
        }
        guard message.utf8.count <= Self.messageLimit else {
            throw RelayError(
                .invalidRequest,
                "message has \(message.utf8.count) bytes, and may have \(Self.messageLimit). Shorten it.")
        }
        self.name = name
        self.message = message
    }
}
