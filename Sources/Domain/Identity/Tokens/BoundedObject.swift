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

    private let members: [ExactText: JSONSlice]

    /// Reads a text that is one object.
    ///
    /// - Throws: `malformed`.
    init(_ text: [UInt8]) throws(TokenError) {
        guard let value = try? JSONSlice(text) else { throw .malformed }
        try self.init(value)
    }

    /// Reads an object. Equal names of members are refused, because programs differ in which of them counts (RFC 7519, section 4).
    ///
    /// - Throws: `malformed` for another value, and for more members than the limit.
    init(_ value: JSONSlice) throws(TokenError) {
        guard let list = value.members(first: Self.maximumMembers + 1), list.count <= Self.maximumMembers else {
            throw .malformed
        }
        members = Dictionary(list.map { (ExactText($0.name), $0.value) }) { first, _ in first }
        guard members.count == list.count else { throw .malformed }
    }

    /// Whether the object has a member, even `null`.
    func has(_ name: StaticString) -> Bool { members["\(name)"] != nil }

    /// A string of at most `limit` bytes.
    func text(_ name: StaticString, upTo limit: Int) throws(TokenError) -> String? {
        guard let value = member(name) else { return nil }
        return try Self.text(of: value, name, upTo: limit)
    }

    /// A list of at most `count` strings.
    func texts(_ name: StaticString, atMost count: Int, upTo limit: Int) throws(TokenError) -> [String]? {
        guard let elements = try elements(name, atMost: count) else { return nil }
        guard elements.count <= count else { throw .malformed(name) }
        return try elements.map { element throws(TokenError) in try Self.text(of: element, name, upTo: limit) }
    }

    /// A string, or a list of at most `count` strings.
    func textOrTexts(_ name: StaticString, atMost count: Int, upTo limit: Int) throws(TokenError) -> [String]? {
        guard let value = member(name), value.kind == .string else {
            return try texts(name, atMost: count, upTo: limit)
        }
        return [try Self.text(of: value, name, upTo: limit)]
    }

    /// The elements of a list. Of a list with more than `count` elements, the first `count + 1`.
    func elements(_ name: StaticString, atMost count: Int) throws(TokenError) -> [JSONSlice]? {
        guard let value = member(name) else { return nil }
        guard let elements = value.elements(first: count + 1) else { throw .malformed(name) }
        return elements
    }

    /// An object.
    func object(_ name: StaticString) throws(TokenError) -> BoundedObject? {
        guard let value = member(name) else { return nil }
        guard value.kind == .object else { throw .malformed(name) }
        return try BoundedObject(value)
    }

    /// A whole number within bounds.
    func number(_ name: StaticString, in bounds: ClosedRange<Int>) throws(TokenError) -> Int? {
        guard let value = member(name) else { return nil }
        guard let number = value.integer, bounds.contains(number) else { throw .malformed(name) }
        return number
    }

    /// A date in seconds since 1970, which may have a fraction (NumericDate, RFC 7519, section 2). At most `lastDate`.
    func date(_ name: StaticString) throws(TokenError) -> Double? {
        guard let value = member(name) else { return nil }
        // A number of JSON has no form that only `Double` knows.
        guard value.kind == .number, value.range.count <= Self.maximumNumberLength,
            let date = Double(String(decoding: value.bytes, as: UTF8.self)), date.sign == .plus, date <= Self.lastDate
        else { throw .malformed(name) }
        return date
    }

    /// A member other than `null`.
    private func member(_ name: StaticString) -> JSONSlice? {
        members["\(name)"].flatMap { $0.isNull ? nil : $0 }
    }

    private static func text(
        of value: JSONSlice, _ name: StaticString, upTo limit: Int
    ) throws(TokenError) -> String {
        // NUL and halves of surrogate pairs would become U+FFFD, so that different names would become equal.
        guard let text = value.storableString, text.utf8.count <= limit else { throw .malformed(name) }
        return text
    }
}
