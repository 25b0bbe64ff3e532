import ChatterdIdentity

/// A query of the list of conversations.
public struct CatalogueQuery: Sendable {
    public let owner: Owner
    /// The names of the conversations that the credential permits; `nil` for all of the owner.
    public var names: [String]?
    public var archive = CatalogueArchive.current
    /// The position behind which the list begins; `nil` for its start.
    public var position: CataloguePosition?
    /// The number of conversations.
    public var limit: Int

    public init(owner: Owner, limit: Int) {
        self.owner = owner
        self.limit = limit
    }
}
