import ChatterdBasics

/// The messages of a conversation, encoded for `/api/chat`: JSON objects with commas between them, without brackets.
public struct EncodedMessages: Sendable {
    /// The JSON text.
    public private(set) var json: ByteBuffer
    /// The properties and the start of each message, in order.
    public private(set) var entries: [EncodedMessage] = []

    /// The number of messages.
    public var count: Int { entries.count }

    /// Creates an empty list with a capacity of `capacity` bytes and `count` messages.
    public init(capacity: Int = 0, count: Int = 0) {
        json = ByteBuffer(capacity: capacity)
        entries.reserveCapacity(count)
    }

    /// Appends a message; `seq` and `turn` as in `EncodedMessage`.
    public mutating func append(_ message: ModelMessage, seq: Int64 = 0, turn: Int64 = 0) {
        let extras = message.extras ?? ""
        append(
            role: message.role.utf8.span, content: message.content.utf8.span, extras: extras.utf8.span, seq: seq,
            turn: turn)
    }

    /// Appends a message from its parts in UTF-8; `extras` are further members as JSON text, or empty.
    public mutating func append(
        role: Span<UInt8>, content: Span<UInt8>, extras: Span<UInt8>, seq: Int64 = 0, turn: Int64 = 0
    ) {
        if !entries.isEmpty {
            json.append(UInt8(ascii: ","))
        }
        entries.append(
            EncodedMessage(
                seq: seq, turn: turn, start: json.count, role: MessageRole(role), hasExtras: !extras.isEmpty))
        json.append(messageWithRole: role, content: content, extras: extras)
    }

    /// The size of the messages in memory, in bytes.
    public var size: Int { json.count + entries.count * MemoryLayout<EncodedMessage>.stride }

    /// Reserves capacity for a list of `bytes` bytes and `count` messages in all.
    public mutating func makeRoom(for bytes: Int, count: Int) {
        json.makeRoom(for: bytes - json.count, step: 0)
        entries.reserveCapacity(count)
    }

    /// Appends a range of another list unchanged.
    public mutating func append(_ messages: Range<Int>, of other: EncodedMessages) {
        guard !messages.isEmpty else { return }
        if !entries.isEmpty {
            json.append(UInt8(ascii: ","))
        }
        let bytes = other.bytes(of: messages)
        for var entry in other.entries[messages] {
            entry.start += json.count - bytes.lowerBound
            entries.append(entry)
        }
        json.append(other.json.bytes.extracting(bytes))
    }

    /// Frees capacity that the text does not use.
    public mutating func trim() {
        json.trim()
    }

    /// The end of the list at some time, to return to by `truncate`.
    public struct Mark: Sendable {
        fileprivate let json: ByteBuffer.Mark
        fileprivate let count: Int
    }

    /// The mark after the last message.
    public var end: Mark { Mark(json: json.endMark, count: entries.count) }

    /// The messages after a mark.
    public func entries(since mark: Mark) -> ArraySlice<EncodedMessage> { entries[mark.count...] }

    /// Removes the messages after a mark.
    public mutating func truncate(to mark: Mark) {
        json.truncate(to: mark.json)
        entries.removeSubrange(mark.count...)
    }

    /// Sets the turn of the messages after a mark.
    public mutating func assign(turn: Int64, since mark: Mark) {
        for index in mark.count..<entries.count {
            entries[index].turn = turn
        }
    }

    /// The range of the JSON of adjacent messages, with the commas between them.
    public func bytes(of messages: Range<Int>) -> Range<Int> {
        guard !messages.isEmpty else { return 0..<0 }
        let end = messages.upperBound < entries.count ? entries[messages.upperBound].start - 1 : json.count
        return entries[messages.lowerBound].start..<end
    }

    /// The messages without those in a range.
    public func removing(_ messages: Range<Int>) -> EncodedMessages {
        guard !messages.isEmpty else { return self }
        var rest = EncodedMessages(
            capacity: json.count - bytes(of: messages).count, count: entries.count - messages.count)
        rest.append(0..<messages.lowerBound, of: self)
        rest.append(messages.upperBound..<entries.count, of: self)
        return rest
    }
}
