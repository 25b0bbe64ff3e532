import ChatterdBasics

/// The messages of a conversation, encoded for `/api/chat`.
///
/// The messages are in runs of about 64 KiB. Copies and parts of a conversation share the runs, so that a request can be sent without a
/// copy of its history, and a history can be kept for the next prompt (docs/decisions/0036-history-cache.md).
public struct EncodedConversation: Sendable {
    /// The size of a run after which another one begins, in bytes.
    private static let runBytes = 65_536

    /// Adjacent messages of a run.
    private struct Piece {
        var run: EncodedMessages
        /// The messages of the run.
        var range: Range<Int>
        /// The index of the first of them in the conversation.
        var first: Int

        var end: Int { first + range.count }
        var isWhole: Bool { range.count == run.count }
        /// Whether the next message follows in the same run.
        var isOpen: Bool { range.upperBound == run.count && run.text.count < EncodedConversation.runBytes }

        mutating func append(role: Span<UInt8>, content: Span<UInt8>, extras: Span<UInt8>, seq: Int64, turn: Int64) {
            run.append(role: role, content: content, extras: extras, seq: seq, turn: turn)
            range = range.lowerBound..<run.count
        }
    }

    private var pieces: [Piece] = []

    /// Creates a conversation without messages.
    public init() {}

    /// The number of messages.
    public var count: Int { pieces.last?.end ?? 0 }

    /// Whether there is no message.
    public var isEmpty: Bool { pieces.isEmpty }

    /// The size of the JSON text in bytes, with the commas between the messages.
    public var byteCount: Int {
        pieces.reduce(max(0, pieces.count - 1)) { $0 + $1.run.bytes(of: $1.range).count }
    }

    /// The size of the conversation in memory, in bytes. Runs that it shares count in full.
    public var memorySize: Int {
        pieces.reduce(0) { $0 + $1.run.size }
    }

    /// A message by its index.
    public subscript(index: Int) -> EncodedMessage {
        let piece = pieces[pieceIndex(of: index)]
        return piece.run.entries[piece.range.lowerBound + index - piece.first]
    }

    /// Creates a conversation of one message of the system; `nil` creates one without messages.
    public init(instructions: String?) {
        guard let instructions else { return }
        append(ModelMessage(role: "system", content: instructions))
    }

    /// The limit of messages that become one, in bytes of JSON: the event loop decodes them.
    public static let longestJoin = 256 * 1024

    /// The messages and others as one message of the system, with an empty line between their texts; `nil` if there are no others, if one of
    /// all has more than a text, and above the limit.
    public func joined(with others: EncodedConversation) -> EncodedConversation? {
        guard !others.isEmpty, byteCount + others.byteCount <= Self.longestJoin, let own = texts,
            let other = others.texts
        else { return nil }
        return EncodedConversation(instructions: (own + other).joined(separator: "\n\n"))
    }

    /// The texts of the messages; `nil` if one of them has other members than a role and a text.
    private var texts: [String]? {
        var texts: [String] = []
        forEachRun { run in
            var position = 0
            while position < run.count {
                var reader = JSONReader(run, at: position)
                // The process has written this JSON itself.
                guard let text = try? Self.text(of: &reader) else { return }
                texts.append(text)
                position = reader.position + 1
            }
        }
        return texts.count == count ? texts : nil
    }

    /// Reads a message; `nil` if it has other members than a role and a text.
    private static func text(of reader: inout JSONReader) throws(JSONError) -> String? {
        var text: String?
        var isPlain = true
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "content") {
                text = try reader.stringOrSkip().map { String(decodingJSON: reader.bytes.extracting($0.range)) }
            } else {
                isPlain = isPlain && reader.matches(key, "role")
                try reader.skipValue()
            }
        }
        return isPlain ? text : nil
    }

    // MARK: - Building

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
        if pieces.isEmpty || !pieces[pieces.count - 1].isOpen {
            pieces.append(Piece(run: EncodedMessages(), range: 0..<0, first: count))
        }
        // In place, so that appending does not copy a run that no other conversation shares.
        pieces[pieces.count - 1].append(role: role, content: content, extras: extras, seq: seq, turn: turn)
    }

    /// Appends the messages of another conversation, and shares them.
    public mutating func append(_ other: EncodedConversation) {
        for var piece in other.pieces {
            piece.first = count
            pieces.append(piece)
        }
    }

    /// The messages of both conversations, which share the runs.
    public func followed(by other: EncodedConversation) -> EncodedConversation {
        guard !isEmpty else { return other }
        var all = self
        all.append(other)
        return all
    }

    /// Frees capacity that the last run does not use.
    public mutating func trim() {
        guard var last = pieces.popLast() else { return }
        last.run.trim()
        pieces.append(last)
    }

    // MARK: - Parts

    /// Some adjacent messages. They share the runs.
    public func messages(_ range: Range<Int>) -> EncodedConversation {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "the conversation has fewer messages")
        var part = EncodedConversation()
        guard !range.isEmpty else { return part }
        for piece in pieces[pieceIndex(of: range.lowerBound)...] {
            guard piece.first < range.upperBound else { break }
            let own = range.clamped(to: piece.first..<piece.end)
            let offset = piece.range.lowerBound - piece.first
            part.pieces.append(
                Piece(
                    run: piece.run, range: own.lowerBound + offset..<own.upperBound + offset, first: part.count))
        }
        return part
    }

    /// The messages without those in a range.
    public func removing(_ range: Range<Int>) -> EncodedConversation {
        guard !range.isEmpty else { return self }
        var rest = messages(0..<range.lowerBound)
        rest.append(messages(range.upperBound..<count))
        return rest
    }

    /// The JSON text in parts: JSON objects with commas between them.
    public var parts: [SharedBytes] {
        pieces.enumerated().map { index, piece in
            let bytes = piece.run.bytes(of: piece.range)
            // Behind another part, the comma belongs to the part.
            return SharedBytes(piece.run.text, bytes.lowerBound - (index > 0 ? 1 : 0)..<bytes.upperBound)
        }
    }

    /// Calls `body` with the messages of each run: JSON objects with commas between them.
    public func forEachRun<Failure: Error>(_ body: (Span<UInt8>) throws(Failure) -> Void) throws(Failure) {
        for piece in pieces {
            try body(piece.run.text.bytes.extracting(piece.run.bytes(of: piece.range)))
        }
    }

    // MARK: - Properties of messages

    /// The size of a message, in bytes of JSON.
    public func byteCount(at index: Int) -> Int {
        let piece = pieces[pieceIndex(of: index)]
        let message = piece.range.lowerBound + index - piece.first
        return piece.run.bytes(of: message..<message + 1).count
    }

    /// The sizes of all messages together: their JSON without the commas, and their pictures.
    public var totals: (bytes: Int, images: Int, imageBytes: Int) {
        var totals = (bytes: 0, images: 0, imageBytes: 0)
        for piece in pieces {
            totals.bytes += piece.run.bytes(of: piece.range).count - (piece.range.count - 1)
            guard piece.run.images > 0 else { continue }
            if piece.isWhole {
                totals.images += piece.run.images
                totals.imageBytes += piece.run.imageBytes
            } else {
                for entry in piece.run.entries[piece.range] {
                    totals.images += Int(entry.images)
                    totals.imageBytes += entry.imageBytes
                }
            }
        }
        return totals
    }

    /// Whether a message has the address of a picture in the place of its bytes.
    public var hasImageAddress: Bool {
        pieces.contains { piece in
            piece.run.images > 0 && piece.run.entries[piece.range].contains(where: \.hasImageAddress)
        }
    }

    /// The numbers (`seq`) of the messages that have one, in order.
    public var numbers: [ClosedRange<Int64>] {
        var numbers: [ClosedRange<Int64>] = []
        for piece in pieces {
            if piece.isWhole {
                for range in piece.run.numbers {
                    numbers.append(numbers: range)
                }
            } else {
                for entry in piece.run.entries[piece.range] where entry.seq > 0 {
                    numbers.append(number: entry.seq)
                }
            }
        }
        return numbers
    }

    /// The index of the piece with a message, found by bisection.
    private func pieceIndex(of index: Int) -> Int {
        // Most callers want one of the last messages.
        if let last = pieces.last, index >= last.first { return pieces.count - 1 }
        var (low, high) = (0, pieces.count - 1)
        while low < high {
            let middle = (low + high + 1) / 2
            if pieces[middle].first <= index {
                low = middle
            } else {
                high = middle - 1
            }
        }
        return low
    }
}
