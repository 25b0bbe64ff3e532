/// The replies of a shard that have something to journal, those that waited longest first. Confined to its shard.
///
/// A reply enters itself with its first token after a round: the others cost a round nothing.
struct GrownReplies {
    private var members: [Reply] = []

    /// Takes a reply in, if it is not there.
    mutating func insert(_ reply: Reply) {
        guard reply.journalPlace == nil else { return }
        reply.journalPlace = members.count
        members.append(reply)
    }

    /// Lets a reply go, if it is there.
    mutating func remove(_ reply: Reply) {
        guard let place = reply.journalPlace else { return }
        reply.journalPlace = nil
        let last = members.removeLast()
        if last !== reply {
            members[place] = last
            last.journalPlace = place
        }
    }

    /// Asks of each whether it is to go.
    mutating func removeAll(where isToGo: (Reply) -> Bool) {
        var kept = 0
        for index in members.indices {
            let reply = members[index]
            if isToGo(reply) {
                reply.journalPlace = nil
            } else {
                reply.journalPlace = kept
                members[kept] = reply
                kept += 1
            }
        }
        members.removeLast(members.count - kept)
    }
}
