import ChatterdBasics
import ChatterdHTTP
import ChatterdIdentity

/// The known members of a JSON object in a file or request of an operator, and the problems of its names.
struct ObjectFields<Name: RawRepresentable & CaseIterable & Hashable> where Name.RawValue == String {
    /// The values; `null` counts as absent.
    private(set) var values: [Name: JSONSlice] = [:]
    /// One sentence for each problem.
    var problems: [String] = []

    /// Reads an object.
    ///
    /// - Throws: `wrongType` for another value.
    init(of object: JSONSlice, ignoring ignored: Set<String> = []) throws(JSONError) {
        guard let members = object.members(first: .max, names: String.maximumNameInJSON) else {
            throw JSONError(.wrongType, at: object.range.lowerBound)
        }
        var found: Set<String> = []
        for (text, value) in members {
            if !found.insert(text).inserted {
                problems.append("\(SettingText.excerpt(text)) is given twice")
            } else if let name = Name(rawValue: text) {
                values[name] = value.isNull ? nil : value
            } else if !ignored.contains(text) {
                let names = Name.allCases.map(\.rawValue).joined(separator: ", ")
                problems.append("\"\(SettingText.excerpt(text))\" is not a field; there are \(names)")
            }
        }
    }
}

// The values of members. A value that is not as it should be is a problem, and counts as absent.
extension ObjectFields {
    /// The limit of a list, and of a text in bytes.
    static var countLimit: Int { 128 }
    private static var textLimit: Int { 8_192 }

    mutating func report(_ name: Name, _ problem: String) {
        problems.append("\(name.rawValue) \(problem)")
    }

    /// A text that must be there.
    mutating func requiredText(_ name: Name) -> String? {
        guard values[name] != nil else {
            report(name, "is missing")
            return nil
        }
        return text(name)
    }

    mutating func text(_ name: Name) -> String? {
        guard let value = values[name] else { return nil }
        guard let text = value.storableString, 1...Self.textLimit ~= text.utf8.count else {
            report(name, "must be a text of 1 to \(Self.textLimit) bytes")
            return nil
        }
        return text
    }

    /// One of the raw values of a type.
    mutating func word<Word: RawRepresentable & CaseIterable>(_ name: Name) -> Word? where Word.RawValue == String {
        guard let text = text(name) else { return nil }
        guard let word = Word(rawValue: text) else {
            report(name, "must be \(Word.allCases.map(\.rawValue).joined(separator: ", "))")
            return nil
        }
        return word
    }

    /// A list of texts, one at least.
    mutating func names(_ name: Name) -> [String]? {
        guard let value = values[name] else { return nil }
        let elements = value.elements(first: Self.countLimit + 1)
        let texts = (elements ?? []).compactMap(\.storableString).filter { 1...Self.textLimit ~= $0.utf8.count }
        guard let elements, !elements.isEmpty, texts.count == elements.count, texts.count <= Self.countLimit else {
            report(name, "must be a list of texts")
            return nil
        }
        return texts
    }

    /// The names of apps, or beginnings of names before `*`; all apps without the member.
    mutating func apps(_ name: Name) -> AppSelection {
        let patterns = names(name) ?? []
        if patterns.contains(where: { $0.dropLast().contains("*") }) {
            report(name, "must be a list of names of apps; a * stands at the end of a text only")
        }
        return AppSelection(patterns)
    }

    mutating func flag(_ name: Name) -> Bool? {
        guard let value = values[name] else { return nil }
        guard let flag = value.boolean else {
            report(name, "must be true or false")
            return nil
        }
        return flag
    }

    /// The header fields of a request.
    mutating func headers(_ name: Name) -> Fields {
        guard let value = values[name] else { return Fields() }
        var fields = Fields()
        for member in value.members(first: Self.countLimit) ?? [] {
            guard let field = FieldName(member.name),
                let text = member.value.string.flatMap({ FieldValue(validating: $0) })
            else {
                report(name, "must be an object of field names and values")
                return Fields()
            }
            fields.add(field, text)
        }
        if value.kind != .object { report(name, "must be an object of field names and values") }
        return fields
    }

    mutating func duration(_ name: Name, in bounds: ClosedRange<Duration>) -> Duration? {
        scalar(name) { (text) throws(SettingProblem) in try SettingText.duration(text, in: bounds) }
    }

    mutating func bytes(_ name: Name, in bounds: ClosedRange<Int>) -> Int? {
        scalar(name) { (text) throws(SettingProblem) in try SettingText.bytes(text, in: bounds) }
    }

    /// What the text of a string or of a number means.
    private mutating func scalar<Value>(_ name: Name, _ read: (String) throws(SettingProblem) -> Value) -> Value? {
        guard let value = values[name] else { return nil }
        let text = value.kind == .number ? String(decoding: value.bytes, as: UTF8.self) : text(name)
        do throws(SettingProblem) {
            return try text.map { (text) throws(SettingProblem) in try read(text) }
        } catch {
            problems.append("\(name.rawValue): \(error.message)")
            return nil
        }
    }
}
