/// What a migrator has done.
public struct MigrationOutcome: Sendable {
    /// The names of the migrations that it has applied.
    public var applied: [String] = []
    /// What its setup has changed: sentences without an end, for people.
    public var changes: [String] = []
    /// The names of the contractions that it has left for later.
    public var outstanding: [String] = []

    /// What a migrator has done that has done nothing.
    public static let nothing = "nothing to migrate"

    /// Lines for people.
    public var description: String {
        let lines = (applied.isEmpty ? [] : ["applied \(applied.joined(separator: ", "))"]) + changes
        return lines.isEmpty ? Self.nothing : lines.joined(separator: "\n")
    }

    /// What an operator does about contractions.
    static func outstanding(_ names: [String]) -> String {
        """
        \(names.joined(separator: ", ")) not applied: run `chatterd migrate --contract` when no process of an older version runs, and none \
        will be started again
        """
    }
}
