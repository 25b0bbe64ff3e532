/// A part of the list of an owner's conversations.
public struct CataloguePage: Sendable {
    public let entries: [CatalogueEntry]
    /// The position at which the list continues; `nil` at its end.
    public let next: CataloguePosition?
}
