import ChatterdBasics

/// A run of adjacent messages of a conversation, encoded for `/api/chat`: JSON objects, each with a comma before it.
public struct EncodedMessages: Sendable {
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
        // An answer with steps has several messages in a row. They stay together, as results follow their calls.
        if AnswerSteps.begin(extras) {
            text.append(messageWithSteps: extras, content: content)
        } else {
            text.append(messageWithRole: role, content: content, extras: extras)
        }
        let pictures =
            extras.isEmpty ? Pictures() : Pictures(in: text.bytes.extracting(start..<text.count))
        entries.append(
            EncodedMessage(
                seq: seq, turn: turn, start: start, imageBytes: pictures.bytes, images: UInt32(pictures.count),
                hasImageAddress: pictures.hasAddress, role: MessageRole(role)))
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
}

/// The pictures of a message.
private struct Pictures {
    private(set) var count = 0
    /// Their bytes in the JSON text.
    private(set) var bytes = 0
    private(set) var hasAddress = false

    init() {}

    /// Reads a message that the process has written itself.
    init(in message: Span<UInt8>) {
        var reader = JSONReader(message)
        try? read(&reader)
    }

    private mutating func read(_ reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            guard reader.matches(key, "images"), try reader.kind() == .array else {
                try reader.skipValue()
                continue
            }
            try reader.beginArray()
            while try reader.nextElement() {
                let image = reader.bytes.extracting(try reader.skipValue())
                bytes += image.count
                count += 1
                hasAddress = hasAddress || image.extracting(droppingFirst: 1).isImageAddress
            }
        }
    }
}

extension Span<UInt8> {
    /// Whether an image is the address of one, or a data URL, and not Base64, which has no colon.
    public var isImageAddress: Bool {
        let beginning = extracting(first: 6)
        for index in beginning.indices where beginning[index] == UInt8(ascii: ":") { return true }
        return false
    }
}
