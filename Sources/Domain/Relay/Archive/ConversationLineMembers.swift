import ChatterdBasics

/// The members of a line of a conversation file, as ranges of the line.
struct ConversationLineMembers: ~Escapable {
    /// All names that lines have. A line with another name comes from a later version, and would lose something.
    enum Name: String {
        case chatterd, version, conversation, title, metadata
        case createdAt = "created_at"
        case updatedAt = "updated_at"
        case archivedAt = "archived_at"
        case seq, above, kind, after, turn, id, model, state, attempt, role, content, thinking, extras, time
        case finishedAt = "finished_at"
        case options
        case lastEvent = "last_event"
        case provenance, end, rows, error, code
    }

    private let line: Span<UInt8>
    private var values: [Name: Range<Int>] = [:]

    /// Finds the members of a line.
    @_lifetime(copy line)
    init(_ line: Span<UInt8>) throws(ConversationLineFault) {
        self.line = line
        if let offset = UTF8Repair.firstInvalid(in: line) {
            throw ConversationLineFault(JSONError(.invalidUTF8, at: offset))
        }
        var hasUnknown = false
        do throws(JSONError) {
            var reader = JSONReader(line)
            try reader.beginObject()
            while let key = try reader.nextKey() {
                let range = try reader.skipValue()
                guard key.range.count <= Self.longestName,
                    let name = Name(rawValue: String(decodingJSON: line.extracting(key.range))), values[name] == nil
                else {
                    hasUnknown = true
                    continue
                }
                values[name] = range
            }
            try reader.finish()
        } catch {
            throw ConversationLineFault(error)
        }
        guard !hasUnknown else { throw ConversationLineFault("it has a member that is unknown, or there twice") }
    }

    /// The size of the longest name, in bytes.
    private static let longestName = 16

    func has(_ name: Name) -> Bool { values[name] != nil }

    /// A whole number within limits; `nil` if the member is absent.
    func integer(_ name: Name, in limits: ClosedRange<Int64>) throws(ConversationLineFault) -> Int64? {
        guard let range = values[name] else { return nil }
        var reader = JSONReader(line, at: range.lowerBound)
        guard let value = (try? reader.integer()).flatMap({ $0 }), limits.contains(Int64(value)) else {
            throw ConversationLineFault(
                "\(name.rawValue) must be a whole number from \(limits.lowerBound) to \(limits.upperBound)")
        }
        return Int64(value)
    }

    /// A text of up to `limit` bytes, decoded; `nil` if the member is absent.
    func text(_ name: Name, upTo limit: Int = .max) throws(ConversationLineFault) -> [UInt8]? {
        guard let range = values[name] else { return nil }
        guard line[range.lowerBound] == UInt8(ascii: "\"") else {
            throw ConversationLineFault("\(name.rawValue) must be a string")
        }
        var text = ByteBuffer(capacity: range.count)
        text.append(decodingJSON: line.extracting((range.lowerBound + 1)..<(range.upperBound - 1)))
        guard text.count <= limit else {
            throw ConversationLineFault("\(name.rawValue) has more than \(limit) bytes")
        }
        return text.array
    }

    /// A text of up to `limit` bytes; `nil` if the member is absent.
    func string(_ name: Name, upTo limit: Int) throws(ConversationLineFault) -> String? {
        try text(name, upTo: limit).map { String(decoding: $0, as: UTF8.self) }
    }

    /// A time of day in microseconds since 1970; `nil` if the member is absent.
    func time(_ name: Name) throws(ConversationLineFault) -> Int64? {
        guard let text = try text(name, upTo: 64) else { return nil }
        guard let time = Int64(rfc3339: text.span) else {
            throw ConversationLineFault(
                "\(name.rawValue) must be a time in UTC such as 2026-11-20T10:39:26.491288Z")
        }
        return time
    }

    /// Whether the member is `true`.
    func isTrue(_ name: Name) -> Bool {
        values[name].map { line.extracting($0).isEqual(to: "true") } ?? false
    }

    /// A member that must be there.
    func required<Value>(_ name: Name, _ value: Value?) throws(ConversationLineFault) -> Value {
        guard let value else { throw ConversationLineFault("\(name.rawValue) is missing") }
        return value
    }

    /// An object in a form that one line can hold; `nil` if the member is absent.
    func object(_ name: Name) throws(ConversationLineFault) -> [UInt8]? {
        guard let range = values[name] else { return nil }
        guard line[range.lowerBound] == UInt8(ascii: "{") else {
            throw ConversationLineFault("\(name.rawValue) must be an object")
        }
        var text = ByteBuffer(capacity: range.count)
        text.append(repairingJSON: line.extracting(range))
        return text.array
    }

    /// The members of an object as JSON text without braces and white space between them, each checked by `check`. Empty if the member
    /// is absent.
    func members(
        _ name: Name, _ check: (String, Span<UInt8>) -> Bool
    ) throws(ConversationLineFault) -> [UInt8] {
        guard let object = try object(name) else { return [] }
        var text = ByteBuffer(capacity: object.count)
        var names: Set<ExactText> = []
        var isFine = true
        JSONMembers.forEach(of: object.span) { reader, key, range in
            let value = object.span.extracting(range)
            let word = String(decodingJSON: object.span.extracting(key.range))
            isFine =
                isFine && names.count < Self.memberLimit && names.insert(ExactText(word)).inserted && check(word, value)
            if !text.isEmpty { text.append(",") }
            text.append("\"")
            text.append(object.span.extracting(key.range))
            text.append("\":")
            text.append(value)
        }
        guard isFine else { throw ConversationLineFault("\(name.rawValue) has a member that it cannot have") }
        return text.array
    }

    /// The limit of members of an object. Requests have at most as many.
    private static let memberLimit = 64
}

/// The reason why a line of a conversation file is refused.
struct ConversationLineFault: Error, Equatable {
    /// A clause for the client, without text of the line.
    let message: String

    init(_ message: String) {
        self.message = message
    }

    init(_ error: JSONError) {
        self.init("it is not a JSON object: \(error)")
    }
}
