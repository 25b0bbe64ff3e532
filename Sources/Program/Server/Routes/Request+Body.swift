import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdRelay

extension Request {
    /// The limit of a body that is read on the event loop, in bytes.
    static let smallBodyLimit = 256 << 10

    /// The body of a request that needs a small one.
    ///
    /// - Throws: `invalidRequest` for a body beyond `smallBodyLimit`.
    var smallBody: [UInt8] {
        get throws(RelayError) {
            guard body.count <= Self.smallBodyLimit else {
                throw RelayError(
                    .invalidRequest,
                    "The body has \(body.count) bytes; at most \(Self.smallBodyLimit) are allowed here.")
            }
            return body.bytes
        }
    }

    /// Throws `invalidRequest` for an empty body and for a form.
    ///
    /// `example` is a valid body, for the message.
    func requireJSON(like example: String) throws(RelayError) {
        guard let first = firstByteOfText else {
            throw RelayError(.invalidRequest, "The body is empty. Send JSON such as \(example).")
        }
        guard !isForm(beginningWith: first) else {
            throw RelayError(
                .invalidRequest,
                "The body is a form. Send JSON such as \(example), with Content-Type: application/json.")
        }
    }

    /// Whether the body is a form. curl labels any body as URL-encoded, so the first byte decides before the type.
    private func isForm(beginningWith first: UInt8) -> Bool {
        switch first {
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\""): return false
        default: return ["multipart/form-data", "application/x-www-form-urlencoded"].contains(fields.mediaType?.text)
        }
    }

    private var firstByteOfText: UInt8? {
        body.bytes.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
    }
}
