/// What the replies of one shard have grown by, on its way to the store; used again for each round. Confined to its shard, but
/// for its sheet while it is on its way.
final class JournalRound: @unchecked Sendable {
    /// How many replies it keeps room for.
    private static let keptCapacity = 16_384

    /// What is to be stored.
    let sheet: any JournalSheet
    /// Whose it is, and up to where.
    private var rows: [(reply: Reply, end: ReplyPosition)] = []

    init(on sheet: any JournalSheet) {
        self.sheet = sheet
    }

    var isEmpty: Bool { rows.isEmpty }

    /// Takes in what a reply has grown by.
    func append(_ reply: Reply) {
        rows.append((reply, reply.journal(on: sheet)))
    }

    /// Tells the replies what has become of it, and begins anew.
    func end(isWritten: Bool) {
        for (reply, end) in rows {
            reply.journalled(to: end, isWritten: isWritten)
        }
        rows.removeAll(keepingCapacity: rows.capacity <= Self.keptCapacity)
        sheet.removeAll()
    }
}
