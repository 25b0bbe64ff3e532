import ChatterdBasics

/// The known members of a JSON object in a file or request of an operator, as JSON texts, and the problems of its names.
struct ObjectFields<Name: RawRepresentable & CaseIterable & Hashable> where Name.RawValue == String {
    /// The JSON text of a member, and its kind, which is not `null`.
    struct Value {
        let kind: JSONKind
        let text: [UInt8]
    }

    /// The values; `null` counts as absent.
    private(set) var values: [Name: Value] = [:]
    /// One sentence for each name that is unknown or given twice.
    private(set) var problems: [String] = []

    /// Reads an object.
    ///
    /// - Throws: if the text is not JSON.
    init(from reader: inout JSONReader, ignoring ignored: Set<String> = []) throws(JSONError) {
        var found: Set<String> = []
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let text = String(nameInJSON: reader.bytes.extracting(key.range))
            let kind = try reader.kind()
            let range = try reader.skipValue()
            if !found.insert(text).inserted {
                problems.append("\(SettingText.excerpt(text)) is given twice")
            } else if let name = Name(rawValue: text) {
                guard kind != .null else { continue }
                values[name] = Value(kind: kind, text: reader.bytes.extracting(range).array)
            } else if !ignored.contains(text) {
                let names = Name.allCases.map(\.rawValue).joined(separator: ", ")
                problems.append("\"\(SettingText.excerpt(text))\" is not a field; there are \(names)")
            }
        }
    }
}
