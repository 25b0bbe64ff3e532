import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// Where the messages of a client that sends its whole history belong in the history of a conversation.
///
/// The common beginning is recognised, and only what follows is new. A history that only lacks its oldest turns still matches. docs/doors.md,
/// "Memory".
public struct HistoryMatch: Sendable, Equatable {
    /// What the new messages follow.
    public enum Parent: Sendable, Equatable {
        /// The last message of the history.
        case last
        /// An earlier reply: the messages begin a branch there.
        case reply(ReplyID)
        /// The messages before all turns: the messages begin a branch there.
        case start
    }

    /// The number of comparisons of images after which a history without its head counts as another one.
    private static let imageComparisons = 100_000

    /// The index of the first new message in the request.
    public let firstNew: Int
    public let parent: Parent
    /// The reply whose prompt ends the request, if the request is the history up to that prompt: the client wants another answer to it. `nil`
    /// for any other request.
    public let repeated: ReplyID?

    /// Compares the messages of a request, one at least, with the history of a conversation.
    ///
    /// - Returns: `nil` if the request differs from the messages before all turns, which no branch can replace.
    public init?(of request: [ModelMessage], in history: [StoredMessage]) {
        let request = request.map(ComparedMessage.init)
        let stored = history.map { ComparedMessage($0.message) }
        let common = zip(request, stored).prefix { $0 == $1 }.count
        if common == stored.count, common < request.count {
            self.init(firstNew: common, parent: .last)
            return
        }
        // Of the two readings that one is right which recognises more: texts such as "yes" occur at several places.
        if common < request.count, let known = Self.knownWithoutHead(request, stored), known > common {
            self.init(firstNew: known, parent: .last)
            return
        }
        let repeated = common == request.count && common < stored.count ? history[common].reply : nil
        // The last end of a turn in the common beginning that leaves a message to ask with.
        let limit = min(common, request.count - 1)
        if let end = history[..<limit].lastIndex(where: { $0.reply != nil }), let id = history[end].reply {
            self.init(firstNew: end + 1, parent: .reply(id), repeated: repeated)
            return
        }
        let seeded = history.prefix { $0.place == .seeded }.count
        guard seeded <= limit else { return nil }
        self.init(firstNew: seeded, parent: .start, repeated: repeated)
    }

    private init(firstNew: Int, parent: Parent, repeated: ReplyID? = nil) {
        self.firstNew = firstNew
        self.parent = parent
        self.repeated = repeated
    }

    /// The number of messages of a request that are known, if the request lacks the oldest turns of the history but has all later ones.
    private static func knownWithoutHead(_ request: [ComparedMessage], _ stored: [ComparedMessage]) -> Int? {
        let systems = request.prefix { $0.role == "system" }
        // Clients that forget old turns keep the messages of the system, or all of the history has none.
        guard systems.isEmpty || systems.elementsEqual(stored.prefix { $0.role == "system" }) else { return nil }
        let rest = Array(request.dropFirst(systems.count))
        guard rest.first?.role == "user" else { return nil }
        // The longest beginning of `rest` that is an end of `stored`, without images (Knuth, Morris and Pratt).
        var failures = [0]
        for index in rest.indices.dropFirst() {
            var length = failures[index - 1]
            while length > 0, !rest[length].isSame(as: rest[index]) { length = failures[length - 1] }
            failures.append(rest[length].isSame(as: rest[index]) ? length + 1 : 0)
        }
        var length = 0
        for message in stored {
            if length == rest.count { length = failures[length - 1] }
            while length > 0, !rest[length].isSame(as: message) { length = failures[length - 1] }
            if rest[length].isSame(as: message) { length += 1 }
        }
        // One message must be new, and a prompt alone is too little to recognise.
        if length == rest.count { length = failures[length - 1] }
        let pictured = rest.indices.filter { rest[$0].hasImages }
        var comparisonsLeft = Self.imageComparisons
        func imagesAgree(_ length: Int) -> Bool {
            for index in pictured {
                guard index < length else { return true }
                comparisonsLeft -= 1
                guard comparisonsLeft > 0, rest[index].imagesAgree(with: stored[stored.count - length + index]) else {
                    return false
                }
            }
            return true
        }
        while length >= 2, !imagesAgree(length) {
            guard comparisonsLeft > 0 else { return nil }
            length = failures[length - 1]
        }
        return length >= 2 ? systems.count + length : nil
    }
}

extension StoredMessage {
    fileprivate var reply: ReplyID? {
        if case .reply(let id) = place { id } else { nil }
    }
}
