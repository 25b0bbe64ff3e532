import ChatterdBasics
import ChatterdHTTP

/// How a client finds the end of a response.
enum ResponseFraming {
    case none
    case length(Int)
    case chunked

    /// Appends the fields, and those that frame the message. The latter are ignored among the given ones.
    func write(_ fields: Fields, to buffer: inout ByteBuffer) {
        for field in fields where !ResponseFraming.isReserved(field.name) {
            buffer.append(utf8: field.name.text)
            buffer.append(": ")
            buffer.append(utf8: field.value)
            buffer.append("\r\n")
        }
        switch self {
        case .none:
            break
        case .length(let length):
            buffer.append("content-length: ")
            buffer.append(decimal: length)
            buffer.append("\r\n")
        case .chunked:
            buffer.append("transfer-encoding: chunked\r\n")
        }
    }

    /// The fields that the server writes itself.
    private static func isReserved(_ name: FieldName) -> Bool {
        switch name {
        case .contentLength, .transferEncoding, .connection, .keepAlive, .date, .xRequestID: true
        default: false
        }
    }
}
