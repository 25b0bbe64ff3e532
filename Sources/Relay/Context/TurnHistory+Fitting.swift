import ChatterdBasics
import ChatterdLanguageModels

extension TurnHistory {
    /// What of a history fits into a window, and the receipt of it: the system messages it begins with and the prompts of the
    /// turn itself always, and of the turns between them the last ones that there is room for; whole turns only. Some more
    /// than that are left out, so that what is sent begins at the same turn for several turns.
    ///
    /// What a tool has answered stays with the turn that called it. Outside of turns, one begins where the user speaks.
    ///
    /// - Parameter window: nothing when it is unknown: then all is sent.
    /// - Throws: `model(.contextTooLong)` when what is always sent does not fit.
    public func fitted(
        to window: ContextWindow?
    ) throws(RelayError) -> (messages: EncodedMessages, receipt: ReplyReceipt) {
        let window = window ?? ContextWindow(tokens: nil, reserve: 0)
        let count = messages.count
        var left = 0..<0
        var size = size(of: 0..<count, in: window)
        if let room = window.room, window.tokens(of: size) > room {
            left = try leftOut(of: window, room: room)
            size = self.size(of: 0..<left.lowerBound, in: window)
            size.add(self.size(of: left.upperBound..<count))
        }
        var receipt = ReplyReceipt()
        receipt.messages = count - left.count
        receipt.contextLength = window.tokens
        receipt.estimatedTokens = window.tokens(of: size)
        receipt.size = size
        receipt.newest = self.size(of: newest)
        receipt.list(messages.entries, without: left, omitted: omitted)
        return (messages.removing(left), receipt)
    }

    /// The messages that are left out: some of the oldest behind those that are always sent.
    ///
    /// A model server that has kept what it was sent before needs to read the new messages only, as long as the beginning is the
    /// same. So the last turns that fit may be cut by a quarter more of their room: of all turns that could be the first then,
    /// the one is that stands behind the coarsest line, if lines are drawn through the conversation at the multiples of all
    /// powers of two of bytes. It stays the first until it does not fit any more, or a coarser line has come into reach. That
    /// depends on the messages alone, so every process has it the same; a rate that is learned moves none of the lines.
    private func leftOut(of window: ContextWindow, room: Int) throws(RelayError) -> Range<Int> {
        let count = messages.count
        let head = messages.entries.prefix { $0.role == .system }.count
        var start = head < count ? startOfTurn(endingAt: count, head: head) : count
        var size = self.size(of: 0..<head, in: window)
        size.add(self.size(of: start..<count))
        let least = window.tokens(of: size)
        // What was refused is not sent again, pictures or not.
        let doubt = window.refused == nil ? size.tokensOfImages : 0
        if let limit = window.limit, least - doubt > limit { throw Self.tooLong(least, for: window) }
        let enough = room - (room - least) / 4
        // How far into the conversation it begins, by a measure that does not change.
        var distance = self.size(of: head..<start).weight
        var first = start
        var coarsest = -1
        while start > head {
            let next = startOfTurn(endingAt: start, head: head)
            let turn = self.size(of: next..<start)
            let isEnough = window.tokens(of: size) >= enough
            size.add(turn)
            let isLast = window.tokens(of: size) > room
            if isEnough || isLast {
                // The highest bit in which they differ: a multiple of that power of two lies between them.
                let line = (distance ^ (distance - turn.weight)).mostSignificantBit
                if line > coarsest {
                    (first, coarsest) = (start, line)
                }
            }
            guard !isLast else { break }
            start = next
            distance -= turn.weight
        }
        return head..<first
    }

    /// Where the turn begins that ends before a message.
    private func startOfTurn(endingAt end: Int, head: Int) -> Int {
        let entries = messages.entries
        var start = end - 1
        while start > head {
            let (first, last) = (entries[start], entries[start - 1])
            let isAnother = first.turn != last.turn || first.turn == 0 && first.role == .user && last.role != .user
            if isAnother, first.role != .tool { return start }
            start -= 1
        }
        return head
    }

    /// The messages behind the last answer of the model.
    private var newest: Range<Int> {
        let last = messages.entries.lastIndex { $0.role == .other }
        return (last.map { $0 + 1 } ?? 0)..<messages.count
    }

    private func size(of range: Range<Int>, in window: ContextWindow) -> PromptSize {
        var size = size(of: range)
        size.bytes += window.besides
        return size
    }

    private func size(of range: Range<Int>) -> PromptSize {
        // Without the commas, so that the sizes of parts add up.
        let bytes = messages.bytes(of: range).count - max(0, range.count - 1)
        var size = PromptSize(bytes: bytes, messages: range.count)
        for index in range where messages.entries[index].hasExtras {
            let bytes = messages.bytes(of: index..<index + 1)
            if bytes.count > PromptSize.smallImage {
                size.take(imagesOf: messages.json.bytes.extracting(bytes))
            }
        }
        return size
    }

    private static func tooLong(_ tokens: Int, for window: ContextWindow) -> RelayError {
        let room = window.tokens.map { " It takes \($0) tokens, its answer included." } ?? ""
        return RelayError(
            .model(.contextTooLong),
            "The prompt is too long for the model: about \(tokens) tokens with the system prompt.\(room)"
                + " Shorten it, or ask a model with a longer context.")
    }
}

extension Int {
    /// The number of the highest bit that is set; -1 if there is none.
    fileprivate var mostSignificantBit: Int { Int.bitWidth - 1 - leadingZeroBitCount }
}

extension ReplyReceipt {
    /// The ranges that are listed of each kind: a receipt is stored with each reply.
    private static let listed = 50

    /// Lists which messages were sent and which were not.
    mutating func list(_ entries: [EncodedMessage], without left: Range<Int>, omitted others: [Omitted]) {
        for index in entries.indices where !left.contains(index) && entries[index].place > 0 {
            sent.append(place: entries[index].place)
        }
        omitted = others
        if !left.isEmpty {
            var trimmed: [Omitted] = []
            for entry in entries[left] where entry.place > 0 {
                trimmed.append(place: entry.place, why: .context)
            }
            omitted = (omitted + trimmed).sorted { $0.places.lowerBound < $1.places.lowerBound }
        }
        isAbridged = sent.count > Self.listed || omitted.count > Self.listed
        if isAbridged {
            sent = sent.suffix(Self.listed)
            omitted = omitted.suffix(Self.listed)
        }
    }
}
