import Bytes

/// The messages of a conversation, encoded for `/api/chat`: JSON objects with commas between them, without brackets.
public struct EncodedMessages: Sendable {
    /// The JSON text.
    public private(set) var json: ByteBuffer
    /// The number of messages.
    public private(set) var count = 0

    /// Makes an empty list with room for `capacity` bytes.
    public init(capacity: Int = 0) {
        json = ByteBuffer(capacity: capacity)
    }

    /// Appends a message.
    public mutating func append(_ message: ModelMessage) {
        separate()
        json.append(message)
    }

    /// Appends a message from its parts in UTF-8; `extras` are further members as JSON text, or empty.
    public mutating func append(role: Span<UInt8>, content: Span<UInt8>, extras: Span<UInt8>) {
        separate()
        json.append(messageWithRole: role, content: content, extras: extras)
    }

    /// A place to go back to.
    public struct Mark: Sendable {
        fileprivate let json: ByteBuffer.Mark
        fileprivate let count: Int
    }

    /// The place after the last message.
    public var end: Mark { Mark(json: json.endMark, count: count) }

    /// Removes the messages after a mark.
    public mutating func truncate(to mark: Mark) {
        json.truncate(to: mark.json)
        count = mark.count
    }

    private mutating func separate() {
        if count > 0 {
            json.append(UInt8(ascii: ","))
        }
        count += 1
    }
}
