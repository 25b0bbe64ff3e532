import ChatterdBasics
import ChatterdChat
import ChatterdCryptography
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdRelay

extension Request {
    /// The id of the last event that the client has: `Last-Event-ID`, or the query item of a client that cannot set fields; `nil` if it
    /// has none.
    var lastEventID: String? {
        if let text = fields[.lastEventID], !text.isEmpty { return text }
        let text = head.target.queryItem("last_event_id") ?? ""
        return text.isEmpty ? nil : text
    }

    /// The position of the last event that the client has; `nil` if it has none.
    ///
    /// - Throws: `invalidRequest`.
    func lastPosition<Position>(_ parse: (String) -> Position?) throws(RelayError) -> Position? {
        guard let text = lastEventID else { return nil }
        guard let position = parse(text) else {
            throw RelayError(.invalidRequest, "Last-Event-ID is not an id that this server gives.")
        }
        return position
    }

    /// The policy for a reply without readers: that of the body, or else of the `On-Disconnect` field; `nil` for neither.
    ///
    /// - Throws: `invalidRequest`.
    func disconnectPolicy(unless policy: DisconnectPolicy?) throws(RelayError) -> DisconnectPolicy? {
        if let policy { return policy }
        guard let text = fields[.onDisconnect] else { return nil }
        guard let policy = DisconnectPolicy(parsing: text) else {
            throw RelayError(
                .invalidRequest,
                "On-Disconnect must be finish, cancel or whole seconds from 0 to \(DisconnectPolicy.maximumSeconds).")
        }
        return policy
    }

    /// Whether queue positions are events, too: as the body says, or else the `Queue-Events` field.
    ///
    /// - Throws: `invalidRequest`.
    func queueEvents(unless flag: Bool?) throws(RelayError) -> Bool {
        if let flag { return flag }
        return try isSet(.queueEvents, "Queue-Events")
    }

    /// Whether calls of tools of the server are events, too: as the body says, or else the `Step-Events` field.
    ///
    /// - Throws: `invalidRequest`.
    func stepEvents(unless flag: Bool?) throws(RelayError) -> Bool {
        if let flag { return flag }
        return try isSet(.stepEvents, "Step-Events")
    }

    private func isSet(_ name: FieldName, _ text: String) throws(RelayError) -> Bool {
        switch fields[name] {
        case nil, "0": return false
        case "1": return true
        default: throw RelayError(.invalidRequest, "\(text) must be 0 or 1.")
        }
    }

    /// The client's name for this request, with the digest of its body; `nil` if the client gave no name.
    ///
    /// - Throws: `invalidRequest`.
    func idempotencyKey() throws(RelayError) -> IdempotencyKey? {
        let values = fields.values(of: .idempotencyKey)
        guard let value = values.first else { return nil }
        guard values.count == 1, let text = Self.unquoted(value), 1...255 ~= text.utf8.count,
            text.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
        else {
            throw RelayError(.invalidRequest, "Idempotency-Key must be one key of 1 to 255 visible ASCII characters.")
        }
        let bytes = body.bytes
        return IdempotencyKey(text: text, digest: SHA256Digest(of: bytes.span).bytes)
    }

    /// The text of a key: bare, or between quotes as a string of RFC 8941 3.3.3, as
    /// draft-ietf-httpapi-idempotency-key-header-06, 2.1, has it. `nil` for a string without end.
    private static func unquoted(_ value: String) -> String? {
        guard value.utf8.first == UInt8(ascii: "\"") else { return value }
        var text: [UInt8] = []
        var rest = value.utf8.dropFirst()
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""):
                return rest.isEmpty ? String(decoding: text, as: UTF8.self) : nil
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst(), escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\")
                else { return nil }
                text.append(escaped)
            default:
                text.append(byte)
            }
        }
        return nil
    }
}
