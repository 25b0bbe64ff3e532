import ChatterdBasics

/// A run of adjacent messages of a conversation, encoded for `/api/chat`: JSON objects, each with a comma before it.
public struct EncodedMessages: Sendable {
    /// The minimum size of a message, in bytes, that is searched for pictures.
    private static let pictureSize = 2_048

    /// The JSON text.
    private(set) var text: ByteBuffer
    /// The properties of each message, in order.
    private(set) var entries: [EncodedMessage] = []
    /// The numbers (`seq`) of the messages that have one.
    private(set) var numbers: [ClosedRange<Int64>] = []
    /// The pictures of all messages, and their bytes in the text.
    private(set) var images = 0
    private(set) var imageBytes = 0

    /// The number of messages.
    var count: Int { entries.count }

    /// Creates an empty run with a capacity of `capacity` bytes.
    init(capacity: Int = 0) {
        text = ByteBuffer(capacity: capacity)
    }

    /// The size of the run in memory, in bytes.
    var size: Int { text.count + entries.count * MemoryLayout<EncodedMessage>.stride }

    /// Appends a message from its parts in UTF-8; `extras` are further members as JSON text, or empty.
    mutating func append(role: Span<UInt8>, content: Span<UInt8>, extras: Span<UInt8>, seq: Int64, turn: Int64) {
        text.append(UInt8(ascii: ","))
        let start = text.count
        text.append(messageWithRole: role, content: content, extras: extras)
        var pictures = (count: 0, bytes: 0)
        if !extras.isEmpty, text.count - start > Self.pictureSize {
            pictures = Self.pictures(in: text.bytes.extracting(start..<text.count))
        }
        entries.append(
            EncodedMessage(
                seq: seq, turn: turn, start: start, imageBytes: pictures.bytes, images: UInt32(pictures.count),
                role: MessageRole(role)))
        images += pictures.count
        imageBytes += pictures.bytes
        if seq > 0 {
            numbers.append(number: seq)
        }
    }

    /// Frees capacity that the text does not use.
    mutating func trim() {
        text.trim()
    }

    /// The bytes of adjacent messages in the text, without the comma before the first one.
    func bytes(of messages: Range<Int>) -> Range<Int> {
        guard !messages.isEmpty else { return 0..<0 }
        let end = messages.upperBound < count ? entries[messages.upperBound].start - 1 : text.count
        return entries[messages.lowerBound].start..<end
    }

    /// The number of pictures of a message, and their bytes.
    private static func pictures(in message: Span<UInt8>) -> (count: Int, bytes: Int) {
        var found = (count: 0, bytes: 0)
        var reader = JSONReader(message)
        do throws(JSONError) {
            try reader.beginObject()
            while let key = try reader.nextKey() {
                guard reader.matches(key, "images"), try reader.kind() == .array else {
                    try reader.skipValue()
                    continue
                }
                try reader.beginArray()
                while try reader.nextElement() {
                    found.bytes += try reader.skipValue().count
                    found.count += 1
                }
            }
        } catch {
            // The process has written this JSON itself, so parsing it cannot fail.
            return found
        }
        return found
    }
}
