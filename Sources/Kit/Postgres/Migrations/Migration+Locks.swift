import ChatterdBasics

extension Migration {
    /// The locks that the statements of a migration take, with the names of their tables or indexes, each once, as far as the text says so: that
    /// of a DO block or of a foreign key does not. Names that are no tables may be among them.
    var locks: [(name: String, mode: String)] {
        var found: [(name: String, mode: String)] = []
        for statement in SQLWords(sql).statements {
            for lock in Self.locks(of: Array(statement)) where !found.contains(where: { $0 == lock }) {
                found.append(lock)
            }
        }
        return found
    }

    private static let fillers = ["if", "not", "exists", "only", "concurrently", "table", "index"]

    private static func locks(of words: [String]) -> [(name: String, mode: String)] {
        /// The first name after a word.
        func name(after place: Int) -> String? { words[(place + 1)...].first { !fillers.contains($0) } }
        func on(_ mode: String) -> [(name: String, mode: String)] {
            words.firstIndex(of: "on").flatMap(name).map { [($0, mode)] } ?? []
        }
        let isConcurrent = words.contains("concurrently")
        switch (words.first, words.dropFirst().first { !["or", "replace", "unique", "constraint"].contains($0) }) {
        case ("alter", "table"), ("alter", "index"), ("truncate", _), ("lock", _):
            return name(after: words.first == "alter" ? 1 : 0).map { [($0, "AccessExclusiveLock")] } ?? []
        case ("drop", "table"), ("drop", "index"):
            return name(after: 1).map { [($0, isConcurrent ? "ShareUpdateExclusiveLock" : "AccessExclusiveLock")] }
                ?? []
        case ("create", "index"): return on(isConcurrent ? "ShareUpdateExclusiveLock" : "ShareLock")
        case ("create", "trigger"): return on("ShareRowExclusiveLock")
        case ("drop", "trigger"), ("create", "policy"), ("drop", "policy"): return on("AccessExclusiveLock")
        case ("create", _), ("comment", _), ("drop", _): return []
        default:
            return words.indices.compactMap { place in
                let isChange =
                    words[place] == "update"
                    || place > 0
                        && ["insert into", "delete from"].contains("\(words[place - 1]) \(words[place])")
                return isChange ? name(after: place).map { ($0, "RowExclusiveLock") } : nil
            }
        }
    }
}
