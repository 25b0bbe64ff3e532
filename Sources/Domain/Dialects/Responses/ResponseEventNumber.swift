/// The `sequence_number` of an event of a response.
///
/// A number follows from the content before the event alone, not from the pieces in which a model server has sent it: a delta has the number
/// of bytes so far. So every process gives the same numbers, whatever the pieces are in which it reads the answer, and a client gets
/// exactly the rest after any number. The order is that of the stored answer: reasoning, text, calls of tools, end. All numbers of a
/// first attempt fit into 32 bits with a sign, which several clients use.
enum ResponseEventNumber {
    /// The numbers of one part of the answer. An answer is smaller, as `Setting.answerLimit` has it.
    private static let part = 1 << 29
    /// The binary digits of the numbers of an attempt.
    private static let digits = 31

    static let created = 0
    static let queued = 1
    static let inProgress = 2

    static let reasoningAdded = 3
    static let reasoningPartAdded = 4
    static let reasoningDone = part
    static let reasoningPartDone = part + 1
    static let reasoningItemDone = part + 2

    static let messageAdded = part + 3
    static let textPartAdded = part + 4
    static let textDone = 2 * part
    static let textPartDone = 2 * part + 1
    static let messageDone = 2 * part + 2

    static let end = 3 * part

    /// A delta of reasoning that ends after this number of bytes.
    static func reasoning(to bytes: Int) -> Int { reasoningPartAdded + bytes }

    /// A delta of text that ends after this number of bytes.
    static func text(to bytes: Int) -> Int { textPartAdded + bytes }

    /// The first of the four events of a call.
    static func call(_ index: Int) -> Int { messageDone + 1 + 4 * index }

    /// What the numbers of an attempt, counted from 1, are higher by than those of the first one.
    static func offset(ofAttempt attempt: Int) -> Int { (attempt - 1) << digits }

    /// The attempt of the event with a number; `nil` for an event before all content, which every attempt has.
    static func attempt(of number: Int) -> Int? {
        number & (1 << digits - 1) <= inProgress ? nil : number >> digits + 1
    }
}
