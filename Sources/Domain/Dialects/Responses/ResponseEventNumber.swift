/// The `sequence_number` of an event of a response.
///
/// A number follows from the content before the event alone, not from the pieces in which a model server has sent it: a delta has the number
/// of bytes so far. So every process gives the same numbers, whatever the pieces are in which it reads the answer, and a client gets
/// exactly the rest after any number. The order is that of the stored answer: in each round reasoning, text and calls of tools of the server, then
/// calls of tools of the client, end. All numbers of a first attempt fit into 32 bits with a sign, which several clients use.
struct ResponseEventNumber {
    /// The numbers of one part of the answer. An answer is smaller, as `Setting.answerLimit` has it.
    private static let part = 1 << 29
    /// The numbers of the reasoning of a round, if there may be several: `Setting.toolRounds` of them and their texts take less than two parts.
    private static let roundPart = 1 << 23
    /// The binary digits of the numbers of an attempt.
    private static let digits = 31

    static let created = 0
    static let queued = 1
    static let inProgress = 2
    /// The events of a list of tools, from the first one on.
    static let eventsOfList = 4
    /// The events of a call of a tool of the server.
    static let eventsOfServerCall = 6

    static let messageDone = 2 * part + 2
    static let end = 3 * part

    /// The numbers of the reasoning of a round.
    private let room: Int
    /// The number of the first event of the round.
    private var start: Int

    /// Numbers the events of the first round of a response to a request that names servers of tools.
    init(servers: Int) {
        room = servers == 0 ? Self.part : Self.roundPart
        start = Self.list(servers)
    }

    /// Continues with the next round.
    ///
    /// - Parameters:
    ///   - text: the bytes of the text of the round that ends.
    ///   - calls: the number of its calls.
    mutating func endRound(text: Int, calls: Int) {
        start = serverCall(calls, after: text)
    }

    /// The limit of the reasoning in the events of a round, in bytes.
    var maximumReasoning: Int { room - 8 }

    /// The first event of a list of tools.
    static func list(_ index: Int) -> Int { inProgress + 1 + index * eventsOfList }

    var reasoningAdded: Int { start }
    var reasoningPartAdded: Int { start + 1 }
    /// A delta of reasoning that ends after this number of bytes of the round.
    func reasoning(to bytes: Int) -> Int { reasoningPartAdded + bytes }
    var reasoningDone: Int { messageAdded - 3 }

    var messageAdded: Int { start + room }
    var textPartAdded: Int { messageAdded + 1 }
    /// A delta of text that ends after this number of bytes of the round.
    func text(to bytes: Int) -> Int { textPartAdded + bytes }
    /// The first of the three events at the end of a message: that of the last round, or one with this number of bytes.
    func textDone(after bytes: Int?) -> Int { bytes.map { textPartAdded + $0 + 1 } ?? Self.messageDone - 2 }

    /// The first event of a call of a tool of the server, in a round whose text has this number of bytes.
    func serverCall(_ index: Int, after bytes: Int) -> Int {
        textDone(after: bytes) + 3 + index * Self.eventsOfServerCall
    }

    /// The first of the four events of a call of a tool of the client.
    static func call(_ index: Int) -> Int { messageDone + 1 + 4 * index }

    /// What the numbers of an attempt, counted from 1, are higher by than those of the first one.
    static func offset(ofAttempt attempt: Int) -> Int { (attempt - 1) << digits }

    /// The attempt of the event with a number; `nil` for an event before all content, which every attempt has.
    static func attempt(of number: Int) -> Int? {
        number & (1 << digits - 1) <= inProgress ? nil : number >> digits + 1
    }
}
