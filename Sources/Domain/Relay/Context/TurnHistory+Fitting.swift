import ChatterdBasics
import ChatterdChat

extension TurnHistory {
    /// Whether the history has all messages that are sent within a window: it is complete, or longer than the window.
    public func covers(_ window: ContextWindow?) -> Bool {
        guard skipped != nil else { return true }
        guard let window, let room = window.room else { return false }
        return window.tokens(of: size(in: window)) > room
    }

    /// The messages of the history that fit into a window, and the report on them.
    ///
    /// The first system messages and the prompts of the turn itself are always sent. Of the turns between them, the newest ones that
    /// fit are sent, as whole turns. A few more turns are left out than necessary, so that several prompts in succession begin at
    /// the same turn.
    ///
    /// The cost is proportional to the window, not to the conversation.
    ///
    /// - Parameter window: the context window; `nil` if it is unknown: all messages are sent. The history `covers` it.
    /// - Throws: `model(.contextTooLong)` if the messages that are always sent do not fit; all are if the client wants no turn left out.
    public func fitted(
        to window: ContextWindow?
    ) throws(RelayError) -> (messages: EncodedConversation, report: PromptReport) {
        let window = window ?? ContextWindow(tokens: nil, reserve: 0)
        var omission = 0..<0
        var size = size(in: window)
        if let room = window.room, window.tokens(of: size) > room {
            if window.refusesTruncation {
                _ = try requireRoom(for: size, in: window)
            } else {
                (omission, size) = try messagesToOmit(in: window, room: room)
            }
        }
        let sent = messages.removing(omission)
        var report = PromptReport()
        report.messages = sent.count
        report.contextLength = window.tokens
        report.estimatedTokens = window.tokens(of: size)
        report.size = size
        report.newest = newest(without: omission)
        report.list(sent.numbers, omitted: omitted(without: omission))
        return (sent, report)
    }

    /// The oldest messages behind those that are always sent, which are left out, and the size of the rest.
    ///
    /// A model server with a cache of the previous prompt only processes the new messages, as long as the prompts begin with the same
    /// messages. The first sent turn therefore changes rarely: up to a quarter more of the room is left out, and of all turns that
    /// may then be the first, the function chooses the one with the coarsest boundary. The boundaries are the multiples of all powers
    /// of two among the numbers of the messages; a turn has those between its first number and that of the next turn. The turn stays
    /// the first until it does not fit any more, or a coarser boundary comes into reach. The boundaries depend on the sent turns alone:
    /// all processes have the same ones, whether they have read the older turns or not, and a rate that is learned moves none of them.
    private func messagesToOmit(
        in window: ContextWindow, room: Int
    ) throws(RelayError) -> (omission: Range<Int>, size: PromptSize) {
        let head = head
        var size = PromptSize(bytes: window.overheadBytes)
        for index in 0..<head {
            size.add(self.size(at: index))
        }
        var turns = TurnsBackwards(messages, head: head)
        guard let own = turns.next() else {
            _ = try requireRoom(for: size, in: window)
            return (head..<head, size)
        }
        size.add(own.size)
        let least = try requireRoom(for: size, in: window)
        let enough = room - (room - least) / 4
        var best = (start: own.start, size: size, boundary: -1)
        // The number with which the next turn will begin, behind the reply.
        var following = messages[messages.count - 1].seq + 2
        var start = own
        while true {
            let older = turns.next()
            let isEnough = window.tokens(of: size) >= enough
            var larger = size
            if let older { larger.add(older.size) }
            let isLast = older == nil || window.tokens(of: larger) > room
            if isEnough || isLast {
                // The highest bit in which the numbers differ: a multiple of that power of two lies between them.
                let boundary = (start.firstNumber ^ following).mostSignificantBit
                if boundary > best.boundary {
                    best = (start.start, size, boundary)
                }
            }
            guard let older, !isLast else { break }
            following = start.firstNumber
            start = older
            size = larger
        }
        return (head..<best.start, best.size)
    }

    /// The tokens of the messages that are always sent.
    ///
    /// - Throws: `model(.contextTooLong)` if they do not fit.
    private func requireRoom(for size: PromptSize, in window: ContextWindow) throws(RelayError) -> Int {
        let least = window.tokens(of: size)
        // Pictures may need fewer tokens than estimated. A refused prompt is not sent again, with or without pictures.
        let uncertain = window.refused == nil ? size.tokensOfImages : 0
        if let limit = window.limit, least - uncertain > limit { throw Self.tooLong(least, for: window) }
        return least
    }

    /// The number of the first system messages of the conversation. Those behind the skipped numbers belong to turns.
    private var head: Int {
        let end = skipped?.lowerBound ?? .max
        var head = 0
        while head < messages.count, messages[head].role == .system, messages[head].seq < end {
            head += 1
        }
        return head
    }

    /// The omitted messages. Everything between the first system messages and the first sent turn is one range: it is beyond the
    /// context, for whatever other reason it would be omitted.
    private func omitted(without omission: Range<Int>) -> [PromptReport.Omitted] {
        guard !omission.isEmpty || skipped != nil, omission.upperBound < messages.count else { return omitted }
        let end = messages[omission.upperBound].seq
        var first = skipped?.lowerBound ?? messages[omission.lowerBound].seq
        if omission.lowerBound > 0 {
            first = messages[omission.lowerBound - 1].seq + 1
        } else if let other = omitted.first {
            first = min(first, other.numbers.lowerBound)
        }
        guard first < end else { return omitted }
        return [PromptReport.Omitted(numbers: first...end - 1, why: .context)]
            + omitted.filter { $0.numbers.lowerBound >= end }
    }

    // MARK: - Sizes

    /// The sent messages after the last answer of the model, or after the omitted messages.
    private func newest(without omission: Range<Int>) -> PromptSize {
        let start = omission.isEmpty ? 0 : omission.upperBound
        var size = PromptSize()
        var index = messages.count
        while index > start, messages[index - 1].role != .other {
            index -= 1
            size.add(self.size(at: index))
        }
        return size
    }

    /// The size of all messages.
    private func size(in window: ContextWindow) -> PromptSize {
        // The commas are not counted, so that the sizes of parts add up.
        let totals = messages.totals
        var size = PromptSize(bytes: totals.bytes - totals.imageBytes + window.overheadBytes, messages: messages.count)
        size.images = totals.images
        return size
    }

    private func size(at index: Int) -> PromptSize { PromptSize(of: messages, at: index) }

    private static func tooLong(_ tokens: Int, for window: ContextWindow) -> RelayError {
        let room = window.tokens.map { " It takes \($0) tokens, its answer included." } ?? ""
        return RelayError(
            .model(.contextTooLong),
            "The prompt is too long for the model: about \(tokens) tokens with the system prompt.\(room)"
                + " Shorten it, or ask a model with a longer context.")
    }
}

extension Int64 {
    /// The number of the highest bit that is set; -1 for 0.
    fileprivate var mostSignificantBit: Int { Int64.bitWidth - 1 - leadingZeroBitCount }
}
