import ChatterdBasics

/// The members of a JSON object in a token or in a set of keys.
///
/// Each method returns `nil` for a member that is absent or `null`, and throws `malformed` for one of another type or beyond a limit.
struct BoundedObject {
    /// The limit of members. Unknown ones count.
    static let maximumMembers = 64
    /// The last instant that a date may state: the end of the year 9999, in seconds since 1970.
    static let lastDate = 253_402_300_799.0
    /// The limit of a number's text, in bytes. A double has at most 24.
    private static let maximumNumberLength = 32

    private let text: [UInt8]
    private let ranges: [ExactText: Range<Int>]

    /// Reads an object. Equal names of members are refused, because programs differ in which of them counts (RFC 7519, section 4).
    ///
    /// - Throws: `malformed` for a text that is no JSON object, and for more members than the limit.
    init(_ text: [UInt8]) throws(TokenError) {
        self.text = text
        guard let ranges = try? Self.ranges(of: text.span) else { throw .malformed }
        self.ranges = ranges
    }

    /// The ranges of the members; `nil` for equal names, and for more members than the limit.
    private static func ranges(of text: Span<UInt8>) throws(JSONError) -> [ExactText: Range<Int>]? {
        try JSONReader.validate(text)
        var reader = JSONReader(text)
        var ranges: [ExactText: Range<Int>] = [:]
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let name = String(decodingJSON: text.extracting(key.range))
            guard ranges.count < maximumMembers, ranges[name] == nil else { return nil }
            ranges[name] = try reader.skipValue()
        }
        return ranges
    }

    /// Whether the object has a member, even `null`.
    func has(_ name: StaticString) -> Bool { ranges["\(name)"] != nil }

    /// A string of at most `limit` bytes.
    func text(_ name: StaticString, upTo limit: Int) throws(TokenError) -> String? {
        guard let range = range(of: name) else { return nil }
        return try string(in: range, name, upTo: limit)
    }

    /// A list of at most `count` strings.
    func texts(_ name: StaticString, atMost count: Int, upTo limit: Int) throws(TokenError) -> [String]? {
        guard let range = range(of: name) else { return nil }
        let elements = try elements(in: range, name, atMost: count)
        guard elements.count <= count else { throw .malformed(name) }
        return try elements.map { element throws(TokenError) in try string(in: element, name, upTo: limit) }
    }

    /// A string, or a list of at most `count` strings.
    func textOrTexts(_ name: StaticString, atMost count: Int, upTo limit: Int) throws(TokenError) -> [String]? {
        guard let range = range(of: name) else { return nil }
        guard text[range.lowerBound] == UInt8(ascii: "\"") else { return try texts(name, atMost: count, upTo: limit) }
        return [try string(in: range, name, upTo: limit)]
    }

    /// The JSON texts of the elements of a list. Of a list with more than `count` elements, the first `count + 1`.
    func elements(_ name: StaticString, atMost count: Int) throws(TokenError) -> [[UInt8]]? {
        guard let range = range(of: name) else { return nil }
        return try elements(in: range, name, atMost: count).map { Array(text[$0]) }
    }

    /// An object.
    func object(_ name: StaticString) throws(TokenError) -> BoundedObject? {
        guard let range = range(of: name) else { return nil }
        guard text[range.lowerBound] == UInt8(ascii: "{") else { throw .malformed(name) }
        return try BoundedObject(Array(text[range]))
    }

    /// A whole number within bounds.
    func number(_ name: StaticString, in bounds: ClosedRange<Int>) throws(TokenError) -> Int? {
        guard let range = range(of: name) else { return nil }
        var reader = JSONReader(text.span, at: range.lowerBound)
        guard let number = try? reader.integer(), bounds.contains(number) else { throw .malformed(name) }
        return number
    }

    /// A date in seconds since 1970, which may have a fraction (NumericDate, RFC 7519, section 2). At most `lastDate`.
    func date(_ name: StaticString) throws(TokenError) -> Double? {
        guard let range = range(of: name) else { return nil }
        // The text is a JSON value, so that one which begins like a number is a number, and has no form that only `Double` knows.
        guard range.count <= Self.maximumNumberLength,
            case UInt8(ascii: "0")...UInt8(ascii: "9") = text[range.lowerBound],
            let date = Double(String(decoding: text[range], as: UTF8.self)), date <= Self.lastDate
        else { throw .malformed(name) }
        return date
    }

    /// The range of a member other than `null`.
    private func range(of name: StaticString) -> Range<Int>? {
        ranges["\(name)"].flatMap { text[$0.lowerBound] == UInt8(ascii: "n") ? nil : $0 }
    }

    private func elements(
        in range: Range<Int>, _ name: StaticString, atMost count: Int
    ) throws(TokenError) -> [Range<Int>] {
        var elements: [Range<Int>] = []
        do throws(JSONError) {
            var reader = JSONReader(text.span, at: range.lowerBound)
            try reader.beginArray()
            while elements.count <= count, try reader.nextElement() {
                elements.append(try reader.skipValue())
            }
        } catch {
            throw .malformed(name)
        }
        return elements
    }

    private func string(in range: Range<Int>, _ name: StaticString, upTo limit: Int) throws(TokenError) -> String {
        var reader = JSONReader(text.span, at: range.lowerBound)
        // NUL and halves of surrogate pairs would become U+FFFD, so that different names would become equal.
        guard let string = try? reader.string(), !reader.hasUnstorableEscapes else { throw .malformed(name) }
        // JSON writes one byte with six bytes at most.
        guard string.range.count <= 6 * limit else { throw .malformed(name) }
        let value = String(decodingJSON: text.span.extracting(string.range))
        guard value.utf8.count <= limit else { throw .malformed(name) }
        return value
    }
}
