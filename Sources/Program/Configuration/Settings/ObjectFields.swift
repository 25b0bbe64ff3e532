import ChatterdBasics

/// The known members of a JSON object in a file or request of an operator, and the problems of its names.
struct ObjectFields<Name: RawRepresentable & CaseIterable & Hashable> where Name.RawValue == String {
    /// The values; `null` counts as absent.
    private(set) var values: [Name: JSONSlice] = [:]
    /// One sentence for each name that is unknown or given twice.
    private(set) var problems: [String] = []

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
