import ChatterdBasics
import ChatterdRelay

/// The members of a JSON object in the body of a request. Null counts as absent.
///
/// The handler names all members that it knows, then reads them; other members are refused.
struct RequestObject {
    /// The limit of members in a body.
    private static let maximumMembers = 32

    private let body: [UInt8]
    private var values: [String: Range<Int>] = [:]

    /// Reads a body, which may be empty.
    ///
    /// - Throws: `invalidRequest` for text that is no JSON object, for unknown and for repeated members.
    init(_ body: [UInt8], members: [String]) throws(RelayError) {
        self.body = body
        guard !body.isEmpty else { return }
        if let offset = UTF8Repair.firstInvalid(in: body.span) {
            throw Self.invalid("The body is not UTF-8 at byte \(offset).")
        }
        do throws(JSONError) {
            try JSONReader.validate(body.span)
            var reader = JSONReader(body.span)
            try reader.beginObject()
            var names: [(String, Range<Int>)] = []
            while let key = try reader.nextKey(), names.count <= Self.maximumMembers {
                let isNull = try reader.kind() == .null
                let name = key.range.count <= 64 ? String(decodingJSON: body.span.extracting(key.range)) : "…"
                let value = try reader.skipValue()
                names.append((name, isNull ? 0..<0 : value))
            }
            values = Dictionary(names) { _, last in last }
            guard values.count == names.count else { throw JSONError(.wrongType, at: 0) }
        } catch {
            throw Self.invalid(
                "The body must be a JSON object with each member once, such as {\"\(members.first ?? "")\": …}.")
        }
        for name in values.keys.sorted() where !members.contains(name) {
            throw Self.invalid(
                "The body has the unknown member \(name). It may have \(members.joined(separator: ", ")).")
        }
        values = values.filter { !$0.value.isEmpty }
    }

    /// A text of 1 to `limit` Unicode scalars without control characters; `nil` if it is absent.
    func name(_ member: String, upTo limit: Int) throws(RelayError) -> String? {
        guard let text = try string(member) else { return nil }
        try text.requireName(member, upTo: limit)
        return text
    }

    /// A list of at most `count` names; `nil` if it is absent.
    func names(_ member: String, atMost count: Int, upTo limit: Int) throws(RelayError) -> [String]? {
        guard let range = values[member] else { return nil }
        var texts: [String] = []
        do throws(JSONError) {
            var reader = JSONReader(body.span, at: range.lowerBound)
            try reader.beginArray()
            while texts.count <= count, try reader.nextElement() {
                texts.append(String(decodingJSON: body.span.extracting(try reader.string().range)))
            }
            guard !reader.hasUnstorableEscapes else { throw JSONError(.wrongType, at: range.lowerBound) }
        } catch {
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
        let text = String(decoding: body[value], as: UTF8.self)
        guard let number = Int(text), range.contains(number) else {
            throw Self.invalid("\(member) must be a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    private func string(_ member: String) throws(RelayError) -> String? {
        guard let range = values[member] else { return nil }
        var reader = JSONReader(body.span, at: range.lowerBound)
        guard let text = try? reader.string().range else { throw Self.invalid("\(member) must be a string.") }
        // Names that differ only in such characters would become equal.
        guard !reader.hasUnstorableEscapes else { throw Self.invalid("\(member) must not contain control characters.") }
        return String(decodingJSON: body.span.extracting(text))
    }

    private static func invalid(_ message: String) -> RelayError { RelayError(.invalidRequest, message) }
}
