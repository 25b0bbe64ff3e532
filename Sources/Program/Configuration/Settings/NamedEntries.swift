import ChatterdBasics

/// Reads a setting that is a JSON list of objects with names.
enum NamedEntries {
    /// Reads a list.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of entries.
    ///   - things: what the entries are, for messages.
    ///   - read: reads an entry: its name, its problems, and its value, which is `nil` with problems.
    /// - Throws: all problems.
    static func read<Value>(
        _ text: String, limit: Int, of things: String,
        _ read: (JSONSlice) throws(JSONError) -> (name: String?, problems: [String], value: Value?)
    ) throws(SettingProblem) -> [Value] {
        var problems: [String] = []
        var values: [Value] = []
        var names: [String] = []
        do {
            let list = try JSONSlice(Array(text.utf8)).elements(first: .max)
            if list == nil { problems.append("not a JSON list of objects: put [ and ] around it") }
            let entries = list ?? []
            if entries.count > limit { problems.append("has more than \(limit) \(things)") }
            for (index, entry) in entries.prefix(limit).enumerated() {
                guard entry.kind == .object else {
                    problems.append("entry \(index + 1) is not an object")
                    continue
                }
                let found = try read(entry)
                let title = "entry \(index + 1)" + (found.name.map { " (\"\(SettingText.excerpt($0))\")" } ?? "")
                problems += found.problems.map { "\(title): \($0)" }
                if let name = found.name {
                    if names.contains(name) { problems.append("\(title): an entry before it has this name") }
                    names.append(name)
                }
                if let value = found.value { values.append(value) }
            }
        } catch {
            problems.append("not a JSON list of objects: \(error)")
        }
        guard problems.isEmpty else { throw SettingProblem(problems) }
        return values
    }
}
