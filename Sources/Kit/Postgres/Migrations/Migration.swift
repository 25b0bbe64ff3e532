import ChatterdBasics

/// One step of the schema.
public struct Migration: Sendable {
    /// What a migration means for programs that do not know it, and for those that lack it.
    public enum Kind: String, Sendable {
        /// Every program needs it, and every process of an older program must have ended before it runs.
        case stop
        /// It only adds: older programs work with it, and start on it.
        case expand
        /// It removes what older programs use: newer programs work with and without it, and it runs on request.
        case contract
    }

    /// A statement of a migration that runs without a transaction around all of it.
    struct Step: Sendable {
        let sql: String
        /// Whether it runs again and again, each time in a transaction of its own, until it changes no row.
        let isRepeated: Bool
    }

    /// The first word of the first line of a file, which says the kind. The line does not count for the checksum.
    private static let mark = "-- kind: "
    /// The line after it of a migration that runs in steps.
    private static let stepsMark = "-- transaction: none"
    /// The lines that begin a step.
    private static let stepMarks = ["-- step": false, "-- repeat": true]

    /// The name, which gives the order and is the key in the tables of applied migrations: `0001_conversations`.
    public let name: String
    /// A text without a kind needs a stop.
    public let kind: Kind
    /// SQL statements; they run in one transaction, and contain no `BEGIN` or `COMMIT`, unless there are steps.
    public let sql: String
    /// The statements if no transaction is around all of them. After a failure all of them run again, so each one must work again.
    let steps: [Step]

    /// Reads the text of a file.
    public init(name: String, sql text: String) {
        self.name = name
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)[...]
        let first = lines.first.map(String.init) ?? ""
        let said = first.hasPrefix(Self.mark) ? Kind(rawValue: String(first.dropFirst(Self.mark.count))) : nil
        if said != nil {
            lines = lines.dropFirst()
        }
        kind = said ?? .stop
        sql = said == nil ? text : lines.joined(separator: "\n")
        guard lines.first.map(String.init) == Self.stepsMark else {
            steps = []
            return
        }
        var steps: [(lines: [Substring], isRepeated: Bool)] = []
        for line in lines.dropFirst() {
            if let isRepeated = Self.stepMarks[String(line)] {
                steps.append(([], isRepeated))
            } else if !steps.isEmpty {
                steps[steps.count - 1].lines.append(line)
            }
        }
        self.steps = steps.map { Step(sql: $0.lines.joined(separator: "\n"), isRepeated: $0.isRepeated) }
    }
}

extension Migration.Step {
    /// The index that the step builds concurrently, if it does so: a build that breaks off leaves it, and it is invalid.
    var concurrentIndex: String? {
        let words = SQLWords(sql).all
        guard let place = words.firstIndex(of: "concurrently"), words.first == "create" else { return nil }
        let rest = words[(place + 1)...]
        return rest.starts(with: ["if", "not", "exists"]) ? rest.dropFirst(3).first : rest.first
    }
}
