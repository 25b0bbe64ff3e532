/// What a migrator has done.
public struct MigrationOutcome: Sendable {
    /// The names of the migrations that it has applied.
    public var applied: [String] = []
    /// What its setup has changed: sentences without an end, for people.
    public var changes: [String] = []

    /// Lines for people.
    public var description: String {
        let lines = (applied.isEmpty ? [] : ["applied \(applied.joined(separator: ", "))"]) + changes
        return lines.isEmpty ? "nothing to migrate" : lines.joined(separator: "\n")
    }
}
