import ChatterdBasics

/// A value in the body of a request. All values share the body, and containers are read level by level.
///
/// The body has been validated as JSON in UTF-8 before.
struct DoorValue {
    /// The limit of members of an object, and of elements of an array without a limit of its own.
    static let maximumMembers = 256

    private let body: [UInt8]
    private let range: Range<Int>

    /// The value that is the whole body.
    ///
    /// - Throws: the error of a body that is not JSON in UTF-8.
    init(_ body: [UInt8]) throws(JSONError) {
        try JSONReader.validate(body.span)
        var reader = JSONReader(body.span)
        self.init(body, try reader.skipValue())
    }

    private init(_ body: [UInt8], _ range: Range<Int>) {
        self.body = body
        self.range = range
    }

    /// The type of the value.
    var kind: JSONKind {
        var reader = JSONReader(body.span, at: range.lowerBound)
        return (try? reader.kind()) ?? .null
    }

    var isNull: Bool { kind == .null }

    /// The JSON text, with U+FFFD instead of characters that cannot be stored.
    var json: [UInt8] {
        var buffer = ByteBuffer(capacity: range.count)
        buffer.append(repairingJSON: body.span.extracting(range))
        return buffer.array
    }

    /// The text of a string; `nil` for another value.
    var string: String? {
        guard kind == .string else { return nil }
        return withInside { String(decodingJSON: $0) }
    }

    /// A boolean; `nil` for another value.
    var boolean: Bool? {
        guard kind == .boolean else { return nil }
        return body[range.lowerBound] == UInt8(ascii: "t")
    }

    /// A whole number; `nil` for another value.
    var integer: Int? {
        var reader = JSONReader(body.span, at: range.lowerBound)
        return (try? reader.integer()) ?? nil
    }

    /// A count (`PeerCount`); `nil` for another value.
    var count: Int? { PeerCount.checked(integer) }

    /// For comparisons.
    var digest: ValueDigest? {
        var reader = JSONReader(body.span, at: range.lowerBound)
        return try? ValueDigest(reading: &reader)
    }

    /// The elements of an array; `nil` for another value and for more elements than the limit.
    func elements(atMost limit: Int = maximumMembers) -> [DoorValue]? {
        guard kind == .array else { return nil }
        var values: [DoorValue] = []
        var reader = JSONReader(body.span, at: range.lowerBound)
        guard (try? reader.beginArray()) != nil else { return nil }
        while (try? reader.nextElement()) == true, let value = try? reader.skipValue() {
            guard values.count < limit else { return nil }
            values.append(DoorValue(body, value))
        }
        return values
    }

    /// The members of an object, without those that are null; of two equal names the last one counts. `nil` for another value and for
    /// more members than the limit.
    func members(atMost limit: Int = maximumMembers) -> DoorMembers? {
        guard kind == .object else { return nil }
        var list: [(name: String, value: DoorValue)] = []
        var reader = JSONReader(body.span, at: range.lowerBound)
        guard (try? reader.beginObject()) != nil else { return nil }
        while let key = try? reader.nextKey(), let value = try? reader.skipValue() {
            guard list.count < limit else { return nil }
            list.append((String(decodingJSON: body.span.extracting(key.range)), DoorValue(body, value)))
        }
        return DoorMembers(list)
    }

    private func withInside<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        body(self.body.span.extracting((range.lowerBound + 1)..<(range.upperBound - 1)))
    }
}
