import ChatterdIdentity

/// The state of a search between its batches.
struct RunningSearch {
    private let request: CatalogueQuery
    /// The position behind which the search continues; `nil` at its start.
    private(set) var position: CataloguePosition?
    /// The hits of conversations that were searched to their end, or to enough matches.
    private(set) var hits: [SearchHit] = []
    /// The hit of the conversation of the position, if the search is inside one.
    private var open: SearchHit?
    /// The number of messages and bytes that were examined.
    private(set) var rows = 0
    private(set) var bytes = 0
    /// Whether no conversation is left.
    private(set) var isComplete = false

    init(_ query: CatalogueQuery) {
        request = query
        position = query.position
    }

    /// Whether the search continues inside the conversation of its position.
    var isInside: Bool { (position?.seq ?? 0) > 0 }

    /// The query for the next conversations.
    func query(limit: Int) -> CatalogueQuery {
        var query = request
        query.position = position
        query.limit = limit
        return query
    }

    /// The number of the message behind which a conversation is searched.
    func start(in entry: CatalogueEntry) -> Int64 {
        guard let position, position.seq > 0, position.updatedAt == entry.place,
            ConversationKey(request.owner, name: position.name) == entry.key
        else { return 0 }
        return position.seq
    }

    /// Adds what was found in the next piece of a conversation.
    ///
    /// - Parameter isWhole: whether the conversation has no further messages.
    mutating func add(_ found: [CatalogueStatements.Found], of entry: CatalogueEntry, isWhole: Bool) {
        let start = start(in: entry)
        if open?.entry.key != entry.key {
            closeOpenHit()
        }
        rows += found.first?.rows ?? 0
        bytes += found.first?.bytes ?? 0
        let limit = CatalogueStatements.matchLimit
        let matches = Array(((open?.matches ?? []) + found.compactMap(\.match)).prefix(limit))
        if !matches.isEmpty || open != nil || start == 0 && found.first?.isInTitle == true {
            open = SearchHit(entry: entry, matches: matches)
        }
        if isWhole || matches.count == limit {
            position = CataloguePosition(behind: entry)
            closeOpenHit()
        } else {
            position = CataloguePosition(updatedAt: entry.place, name: entry.key.name, seq: found.first?.last ?? 0)
        }
    }

    /// Ends the search: no conversation is left.
    mutating func complete() {
        closeOpenHit()
        isComplete = true
    }

    /// The hits, with that of a conversation that was searched in part.
    var finishedHits: [SearchHit] { hits + (open.map { [$0] } ?? []) }

    private mutating func closeOpenHit() {
        guard let hit = open.take() else { return }
        hits.append(hit)
    }
}
