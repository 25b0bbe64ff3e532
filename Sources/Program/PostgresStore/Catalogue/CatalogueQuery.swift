import ChatterdIdentity

/// A query of the list of conversations.
public struct CatalogueQuery: Sendable {
    public let owner: Owner
    /// The names of the conversations that the credential permits; `nil` for all of the owner.
    public var names: [String]?
    public var archive = CatalogueArchive.current
    /// Whether the list has the single requests of the owner in the place of the conversations.
    public var listsSingles = false
    /// The position behind which the list begins; `nil` for its start.
    public var position: CataloguePosition?
    /// The number of conversations.
    public var limit: Int

    public init(owner: Owner, limit: Int) {
        self.owner = owner
        self.limit = limit
    }

    /// The text of the owner that the conversations of the list have.
    var listedOwner: String { listsSingles ? ConversationKey.singleOwner(of: owner) : owner.keyPrefix }
}

/// Which conversations a list has; the raw values are those of the query item `archived`.
public enum CatalogueArchive: String, Sendable, CaseIterable {
    /// Those that are not archived.
    case current = "0"
    /// The archived ones.
    case archived = "1"
    /// Both.
    case all
}
