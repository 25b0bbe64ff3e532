/// A value in a JSON text. All values of a text share it, and containers are read level by level.
///
/// It reads the objects of requests, tokens and settings, whose members are checked one by one. A getter returns `nil` for a value of
/// another type; the caller has the limits, the rule for equal names and the errors. Code on the token path uses a `JSONReader`.
public struct JSONSlice: Sendable {
    private let text: [UInt8]
    /// The place of the value in its text.
    public let range: Range<Int>

    /// Creates the value that is the whole text.
    ///
    /// - Throws: the error of a text that is not JSON in UTF-8.
    public init(_ text: [UInt8]) throws(JSONError) {
        try JSONReader.validate(text.readable)
        var reader = JSONReader(text.readable)
        self.init(text, try reader.skipValue())
    }

    /// Copies the next value of a text.
    public init(copying reader: inout JSONReader) throws(JSONError) {
        let range = try reader.skipValue()
        self.init(reader.bytes.extracting(range).array, 0..<range.count)
    }

    private init(_ text: [UInt8], _ range: Range<Int>) {
        self.text = text
        self.range = range
    }

    /// A reader that is before the value.
    public var reader: JSONReader {
        @_lifetime(borrow self)
        borrowing get { JSONReader(text.readable, at: range.lowerBound) }
    }

    /// The type of the value.
    public var kind: JSONKind {
        var reader = self.reader
        return (try? reader.kind()) ?? .null
    }

    /// Whether the value is `null`.
    public var isNull: Bool { kind == .null }

    /// The JSON text, unchanged.
    public var bytes: [UInt8] { text.readable.extracting(range).array }

    /// The JSON text, with U+FFFD instead of characters that cannot be stored.
    public var json: [UInt8] {
        var buffer = ByteBuffer(capacity: range.count)
        buffer.append(repairingJSON: text.readable.extracting(range))
        return buffer.array
    }

    /// The text of a string.
    public var string: String? {
        guard kind == .string else { return nil }
        return String(decodingJSON: text.readable.extracting((range.lowerBound + 1)..<(range.upperBound - 1)))
    }

    /// The text of a string without `\u0000` and halves of surrogate pairs. Texts that differ only in these would become equal.
    public var storableString: String? {
        var reader = self.reader
        guard (try? reader.string()) != nil, !reader.hasUnstorableEscapes else { return nil }
        return string
    }

    /// A boolean.
    public var boolean: Bool? {
        guard kind == .boolean else { return nil }
        return text[range.lowerBound] == UInt8(ascii: "t")
    }

    /// A whole number.
    public var integer: Int? {
        var reader = self.reader
        return (try? reader.integer()) ?? nil
    }

    /// A count (`PeerCount`).
    public var count: Int? { PeerCount.checked(integer) }

    /// The elements of an array: the first `limit` of them.
    public func elements(first limit: Int) -> [JSONSlice]? {
        var elements: [JSONSlice] = []
        var reader = self.reader
        guard (try? reader.beginArray()) != nil else { return nil }
        while elements.count < limit, (try? reader.nextElement()) == true, let value = try? reader.skipValue() {
            elements.append(JSONSlice(text, value))
        }
        return elements
    }

    /// The members of an object in their order: the first `limit` of them. A name that takes more than `length` bytes is "…".
    public func members(first limit: Int, names length: Int = .max) -> [(name: String, value: JSONSlice)]? {
        var members: [(name: String, value: JSONSlice)] = []
        var reader = self.reader
        guard (try? reader.beginObject()) != nil else { return nil }
        while members.count < limit, let key = try? reader.nextKey(), let value = try? reader.skipValue() {
            let name = key.range.count <= length ? String(decodingJSON: text.readable.extracting(key.range)) : "…"
            members.append((name, JSONSlice(text, value)))
        }
        return members
    }

    /// The last member of an object that has a name and a type; `nil` if there is none.
    public func last(_ name: StaticString, _ kind: JSONKind) -> JSONSlice? {
        var found: JSONSlice?
        var reader = self.reader
        guard (try? reader.beginObject()) != nil else { return nil }
        while let key = try? reader.nextKey(), let value = try? reader.skipValue() {
            guard reader.matches(key, name) else { continue }
            let member = JSONSlice(text, value)
            if member.kind == kind { found = member }
        }
        return found
    }
}
