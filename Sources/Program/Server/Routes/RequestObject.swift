import ChatterdBasics
import ChatterdRelay

/// The members of a JSON object in the body of a request. Null counts as absent.
///
/// The handler names all members that it knows, then reads them; other members are refused.
struct RequestObject {
    /// The limit of members in a body.
    private static let maximumMembers = 32
    /// The limit of a name in a body, in bytes; all longer ones are one unknown name.
    private static let maximumName = 64

    private var values: [String: JSONSlice] = [:]

    /// Reads a body, which may be empty.
    ///
    /// - Throws: `invalidRequest` for text that is no JSON object, for unknown and for repeated members.
    init(_ body: [UInt8], members: [String]) throws(RelayError) {
        guard !body.isEmpty else { return }
        if let offset = UTF8Repair.firstInvalid(in: body.span) {
            throw Self.invalid("The body is not UTF-8 at byte \(offset).")
        }
        let list = (try? JSONSlice(body))?.members(first: Self.maximumMembers + 1, names: Self.maximumName)
        values = Dictionary((list ?? []).map { ($0.name, $0.value) }) { _, last in last }
        guard let list, values.count == list.count else {
            throw Self.invalid(
                "The body must be a JSON object with each member once, such as {\"\(members.first ?? "")\": …}.")
        }
        for name in values.keys.sorted() where !members.contains(name) {
            throw Self.invalid(
                "The body has the unknown member \(name). It may have \(members.joined(separator: ", ")).")
        }
        values = values.filter { !$0.value.isNull }
    }

    /// A text of 1 to `limit` Unicode scalars without control characters; `nil` if it is absent.
    func name(_ member: String, upTo limit: Int) throws(RelayError) -> String? {
        guard let value = values[member] else { return nil }
        guard value.kind == .string else { throw Self.invalid("\(member) must be a string.") }
        guard let text = value.storableString else {
            throw Self.invalid("\(member) must not contain control characters.")
        }
        try text.requireName(member, upTo: limit)
        return text
    }

    /// A list of at most `count` names; `nil` if it is absent.
    func names(_ member: String, atMost count: Int, upTo limit: Int) throws(RelayError) -> [String]? {
        guard let value = values[member] else { return nil }
        let elements = value.elements(first: count + 1)
        let texts = (elements ?? []).compactMap(\.storableString)
        guard let elements, texts.count == elements.count else {
            throw Self.invalid("\(member) must be a list of strings without control characters.")
        }
        guard texts.count <= count else { throw Self.invalid("\(member) has more than \(count) elements.") }
        for text in texts {
            try text.requireName("An element of \(member)", upTo: limit)
        }
        return texts
    }

    /// A whole number in a range; `nil` if it is absent.
    func number(_ member: String, in range: ClosedRange<Int>) throws(RelayError) -> Int? {
        guard let value = values[member] else { return nil }
        guard let number = value.integer, range.contains(number) else {
            throw Self.invalid("\(member) must be a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    /// Whether a member is true; `nil` if it is absent.
    func flag(_ member: String) throws(RelayError) -> Bool? {
        guard let value = values[member] else { return nil }
        guard let flag = value.boolean else { throw Self.invalid("\(member) must be true or false.") }
        return flag
    }

    private static func invalid(_ message: String) -> RelayError { RelayError(.invalidRequest, message) }
}
