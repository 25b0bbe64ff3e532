import ChatterdBasics

/// A migration that a database and a program have differently.
public struct MigrationDifference: Sendable, Equatable {
    /// How they differ.
    public enum Kind: String, Sendable {
        /// The program does not know a migration of the database.
        case unknown
        /// The program does not know an expansion of the database, and needs not.
        case expansion
        /// The text of the program is not the one that was applied.
        case changed
        /// The database lacks it.
        case missing
    }

    /// The name of the migration.
    public let name: String
    public let kind: Kind
}

extension [MigrationDifference] {
    /// The names of the migrations that differ in one way.
    public func names(_ kind: MigrationDifference.Kind) -> [String] {
        filter { $0.kind == kind }.map(\.name)
    }
}
