import ChatterdBasics

/// The arguments of a command, checked against its entry.
struct ParsedArguments: Equatable {
    /// The command; the entry with the empty name without one.
    private(set) var entry: CommandEntry
    /// The words that are no options.
    private(set) var words: [String] = []
    private var values: [String: String] = [:]

    /// Reads the arguments after the program's name. `--` ends the options.
    init(_ arguments: [String]) throws(UsageError) {
        entry = CommandTable.conversation
        var isCommandKnown = false
        var areOptionsOver = false
        var index = 0
        while index < arguments.count {
            let argument = arguments[index]
            index += 1
            if !areOptionsOver, argument == "--" {
                areOptionsOver = true
            } else if !areOptionsOver, argument.first == "-", argument != "-" {
                try readOption(argument, arguments, &index)
            } else if isCommandKnown {
                words.append(argument)
            } else {
                guard let found = CommandTable.entry(argument) else {
                    throw UsageError("there is no command \"\(argument)\": see chatter help")
                }
                entry = found
                isCommandKnown = true
                try checkOptions()
            }
        }
        if case .none = entry.words, let word = words.first, !has(.help) {
            throw UsageError("\(entry.name) takes no \"\(word)\"")
        }
    }

    /// Whether an option was given.
    func has(_ option: CommandOption) -> Bool { values[option.name] != nil }

    /// Whether an option without a value was given.
    func has(_ name: String) -> Bool { values[name] != nil }

    /// The value of an option; `nil` without it.
    func value(_ name: String) -> String? { values[name] }

    /// A whole number from 1 to `limit`.
    func number(_ name: String, upTo limit: Int) throws(UsageError) -> Int? {
        guard let text = values[name] else { return nil }
        guard let number = Int(text), 1...limit ~= number else {
            throw UsageError("\(name) needs a whole number from 1 to \(limit), not \"\(text)\"")
        }
        return number
    }

    /// The elements of a value with commas.
    func list(_ name: String) -> [String]? {
        values[name].map { $0.split(separator: ",").map(String.init) }
    }

    /// A time such as `90s`, `12h` or `30d`, in seconds.
    func seconds(_ name: String) throws(UsageError) -> Int? {
        guard let text = values[name] else { return nil }
        guard let seconds = TimeText.seconds(text) else {
            throw UsageError("\(name) needs a time such as 90s, 12h or 30d, not \"\(text)\"")
        }
        return seconds
    }

    private mutating func readOption(
        _ argument: String, _ arguments: [String], _ index: inout Int
    ) throws(UsageError) {
        let name = argument.prefix { $0 != "=" }
        let known = entry.options + CommandOption.common
        guard let option = known.first(where: { $0.name == name || $0.short == argument }) else {
            throw UsageError("\(entry.name.isEmpty ? "chatter" : entry.name) has no option \"\(name)\"")
        }
        guard option.value != nil else {
            guard name.count == argument.count else { throw UsageError("\(option.name) takes no value") }
            values[option.name] = ""
            return
        }
        if name.count < argument.count {
            values[option.name] = String(argument.dropFirst(name.count + 1))
        } else {
            guard index < arguments.count else { throw UsageError("\(option.name) needs a value") }
            values[option.name] = arguments[index]
            index += 1
        }
    }

    /// Options before the command must be among those of the command.
    private func checkOptions() throws(UsageError) {
        let known = entry.options + CommandOption.common
        for name in values.keys.sorted() where !known.contains(where: { $0.name == name }) {
            throw UsageError("\(entry.name) has no option \"\(name)\"")
        }
    }
}
