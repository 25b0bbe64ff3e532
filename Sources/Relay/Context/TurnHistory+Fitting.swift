import ChatterdBasics
import ChatterdLanguageModels

extension TurnHistory {
    /// The messages of the history that fit into a window, and the report on them.
    ///
    /// The first system messages and the prompts of the turn itself are always sent. Of the turns between them, the newest ones that
    /// fit are sent, as whole turns. A few more turns are left out than necessary, so that several prompts in succession begin at
    /// the same turn.
    ///
    /// The answer of a tool stays with the turn that called the tool. Among seeded messages, a turn begins with a user message.
    ///
    /// - Parameter window: the context window; `nil` if it is unknown: all messages are sent.
    /// - Throws: `model(.contextTooLong)` if the messages that are always sent do not fit.
    public func fitted(
        to window: ContextWindow?
    ) throws(RelayError) -> (messages: EncodedMessages, report: PromptReport) {
        let window = window ?? ContextWindow(tokens: nil, reserve: 0)
        let count = messages.count
        var omission = 0..<0
        var size = size(of: 0..<count, in: window)
        if let room = window.room, window.tokens(of: size) > room {
            omission = try messagesToOmit(in: window, room: room)
            size = self.size(of: 0..<omission.lowerBound, in: window)
            size.add(self.size(of: omission.upperBound..<count))
        }
        var report = PromptReport()
        report.messages = count - omission.count
        report.contextLength = window.tokens
        report.estimatedTokens = window.tokens(of: size)
        report.size = size
        report.newest = self.size(of: newest)
        report.list(messages.entries, without: omission, omitted: omitted)
        return (messages.removing(omission), report)
    }

    /// The oldest messages behind those that are always sent, which are left out.
    ///
    /// A model server with a cache of the previous prompt only processes the new messages, as long as the prompts begin with the same
    /// messages. The first sent turn therefore changes rarely: up to a quarter more of the room is left out, and of all turns that
    /// may then be the first, the function chooses the one behind the coarsest boundary. The boundaries are the multiples of all
    /// powers of two of the conversation's bytes. The turn stays the first until it does not fit any more, or a coarser boundary
    /// comes into reach. The boundaries depend on the messages alone: all processes have the same ones, and a rate that is learned
    /// moves none of them.
    private func messagesToOmit(in window: ContextWindow, room: Int) throws(RelayError) -> Range<Int> {
        let count = messages.count
        let head = messages.entries.prefix { $0.role == .system }.count
        var start = head < count ? startOfTurn(endingAt: count, head: head) : count
        var size = self.size(of: 0..<head, in: window)
        size.add(self.size(of: start..<count))
        let least = window.tokens(of: size)
        // Pictures may need fewer tokens than estimated. A refused prompt is not sent again, with or without pictures.
        let uncertain = window.refused == nil ? size.tokensOfImages : 0
        if let limit = window.limit, least - uncertain > limit { throw Self.tooLong(least, for: window) }
        let enough = room - (room - least) / 4
        // The distance of `start` from the beginning of the conversation, in a measure that no learned rate changes.
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
                // The highest bit in which the distances differ: a multiple of that power of two lies between them.
                let boundary = (distance ^ (distance - turn.weight)).mostSignificantBit
                if boundary > coarsest {
                    (first, coarsest) = (start, boundary)
                }
            }
            guard !isLast else { break }
            start = next
            distance -= turn.weight
        }
        return head..<first
    }

    /// The index of the first message of the turn that ends before `end`.
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

    /// The messages after the last answer of the model.
    private var newest: Range<Int> {
        let last = messages.entries.lastIndex { $0.role == .other }
        return (last.map { $0 + 1 } ?? 0)..<messages.count
    }

    private func size(of range: Range<Int>, in window: ContextWindow) -> PromptSize {
        var size = size(of: range)
        size.bytes += window.overheadBytes
        return size
    }

    private func size(of range: Range<Int>) -> PromptSize {
        // The commas are not counted, so that the sizes of parts add up.
        let bytes = messages.bytes(of: range).count - max(0, range.count - 1)
        var size = PromptSize(bytes: bytes, messages: range.count)
        for index in range where messages.entries[index].hasExtras {
            let bytes = messages.bytes(of: index..<index + 1)
            if bytes.count > PromptSize.smallImage {
                size.countImages(of: messages.json.bytes.extracting(bytes))
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
    /// The number of the highest bit that is set; -1 for 0.
    fileprivate var mostSignificantBit: Int { Int.bitWidth - 1 - leadingZeroBitCount }
}

extension PromptReport {
    /// The maximum number of listed ranges of each kind, because a report is stored with each reply.
    private static let listed = 50

    /// Lists which messages were sent and which were not.
    mutating func list(_ entries: [EncodedMessage], without omission: Range<Int>, omitted others: [Omitted]) {
        for index in entries.indices where !omission.contains(index) && entries[index].seq > 0 {
            sent.append(number: entries[index].seq)
        }
        omitted = others
        if !omission.isEmpty {
            var trimmed: [Omitted] = []
            for entry in entries[omission] where entry.seq > 0 {
                trimmed.append(number: entry.seq, why: .context)
            }
            omitted = (omitted + trimmed).sorted { $0.numbers.lowerBound < $1.numbers.lowerBound }
        }
        isAbridged = sent.count > Self.listed || omitted.count > Self.listed
        if isAbridged {
            sent = sent.suffix(Self.listed)
            omitted = omitted.suffix(Self.listed)
        }
    }
}
