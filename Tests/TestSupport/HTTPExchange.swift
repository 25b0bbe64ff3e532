import Foundation

/// A whole response, and how it ended.
public struct HTTPExchange: Sendable {
    /// The status line and the fields.
    public let head: MessageHead
    /// The body without framing.
    public let body: [UInt8]
    /// Whether the body is as long as its framing promised.
    public let end: BodyEnd

    /// The status.
    public var status: Int { head.status }

    /// The body as text.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The body as a JSON object; empty for any other body.
    public var json: [String: Any] {
        let object = try? JSONSerialization.jsonObject(with: Data(body))
        return object as? [String: Any] ?? [:]
    }

    /// The events of the body.
    public var events: [ServerEvent] {
        var events: [ServerEvent] = []
        var start = 0
        for position in body.indices.dropFirst()
        where body[position] == 10 && body[position - 1] == 10 && position > start {
            events.append(ServerEvent(bytes: Array(body[start...position])))
            start = position + 1
        }
        return events
    }

    /// The value of a field, by its name in any case.
    public subscript(_ name: String) -> String? { head[name] }
}
