import Foundation

/// A request to the scripted model server.
public struct UpstreamRequest: Sendable {
    /// The index among all requests.
    public let number: Int
    /// The index of its connection among all connections.
    public let connection: Int
    /// The method of the request line.
    public let method: String
    /// The target of the request line, as sent.
    public let path: String
    /// The fields in order, as sent.
    public let fields: [(name: String, value: String)]
    /// The body without framing.
    public let body: [UInt8]
    /// When the body was complete, in seconds of `monotonicSeconds()`.
    public let time: Double

    /// The value of a field, by its name in any case.
    public subscript(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The body as a JSON object.
    public var json: [String: Any] {
        let object = try? JSONSerialization.jsonObject(with: Data(body))
        return object as? [String: Any] ?? [:]
    }

    /// The replayed conversation: role and content of each message.
    public var messages: [[String]] {
        // JSONDecoder: JSONSerialization loses U+FEFF.
        let conversation = try? JSONDecoder().decode(Conversation.self, from: Data(body))
        return conversation?.messages.map { [$0.role, $0.content] } ?? []
    }

    private struct Conversation: Decodable {
        struct Message: Decodable {
            let role: String
            let content: String
        }

        let messages: [Message]
    }
}
