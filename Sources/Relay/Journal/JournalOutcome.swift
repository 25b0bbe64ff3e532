/// The outcome of a flush of the journal.
public struct JournalOutcome: Sendable, Equatable {
    /// The signals of other processes, and `gone` for replies that this process does not own any more.
    public var signals: [ReplySignal]
    /// The generation of the sheets that are written now. When it rises, the process repeats the text of its running replies in the new
    /// sheets, and then releases the older ones.
    public var generation: Int32

    public init(signals: [ReplySignal] = [], generation: Int32 = 0) {
        self.signals = signals
        self.generation = generation
    }
}
