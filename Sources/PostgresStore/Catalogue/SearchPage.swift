/// A part of the result of a search.
public struct SearchPage: Sendable {
    public let hits: [SearchHit]
    /// The position at which the search continues; `nil` if all conversations were searched. A search ends at the limit of a request
    /// too, so a page may have few hits, or none, before the end.
    public let next: CataloguePosition?
}
