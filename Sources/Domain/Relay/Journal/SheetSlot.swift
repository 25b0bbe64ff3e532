/// The number that stands for one part of a reply in the sheets of the journal. The store sets it; the reply keeps it for the next sheet.
///
/// A sheet names a reply once, when the slot is opened; later pieces have the number only. A slot is valid for one part, for one size of
/// the other parts, and for sheets of one generation or later.
public struct SheetSlot: Sendable, Equatable {
    /// The parts of a reply, by their numbers in the database.
    public enum Part: Int32, Sendable {
        case text = 0
        case thinking = 1
        case toolCalls = 2
    }

    /// The number; 0 for no slot.
    public private(set) var number: Int32 = 0
    public private(set) var part = Part.text
    /// The size of the other two parts, in bytes.
    public private(set) var others: Int32 = 0
    /// The generation of the sheets in which the slot was opened, or an earlier one.
    public private(set) var generation: Int32 = 0

    /// No slot.
    public init() {}

    /// Opens a slot with a number that the process has not used for another one.
    public init(number: Int32, part: Part, others: Int32, generation: Int32) {
        self.number = number
        self.part = part
        self.others = others
        self.generation = generation
    }

    /// Records that the slot was opened in a sheet of a generation.
    public mutating func wasOpened(in generation: Int32) {
        self.generation = generation
    }

    /// Whether the slot stands for a part, behind that size of the other parts, in sheets of a generation.
    public func isValid(for part: Part, others: Int32, generation: Int32) -> Bool {
        number != 0 && self.part == part && self.others == others && self.generation == generation
    }
}
