/// A command in the table from which arguments are read and help and completions are written.
struct CommandEntry: Sendable, Equatable {
    /// The kinds of words after the command, which shells complete.
    enum Words: Sendable, Equatable {
        case none
        /// Any text.
        case text
        case conversation
        case file
        /// One of these.
        case oneOf([String])
    }

    /// The name; empty for the program without a command.
    let name: String
    /// The words after it, for people.
    let synopsis: String
    /// A half sentence.
    let summary: String
    let words: Words
    let options: [CommandOption]
    /// Further lines of its help.
    let notes: [String]

    init(
        _ name: String, _ synopsis: String = "", _ words: Words = .none, _ summary: String,
        options: [CommandOption] = [], notes: [String] = []
    ) {
        self.name = name
        self.synopsis = synopsis
        self.summary = summary
        self.words = words
        self.options = options
        self.notes = notes
    }
}
