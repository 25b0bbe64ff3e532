import ChatterdBasics
import ChatterdChat

extension EncodedConversation {
    /// The properties of all messages.
    public var entries: [EncodedMessage] { (0..<count).map { self[$0] } }

    /// The JSON text.
    public var json: ByteBuffer {
        var json = ByteBuffer()
        for part in parts {
            json.append(part.bytes)
        }
        return json
    }
}
