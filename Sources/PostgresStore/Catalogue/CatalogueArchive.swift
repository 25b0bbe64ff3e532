/// Which conversations a list has; the raw values are those of the query item `archived`.
public enum CatalogueArchive: String, Sendable, CaseIterable {
    /// Those that are not archived.
    case current = "0"
    /// The archived ones.
    case archived = "1"
    /// Both.
    case all
}
