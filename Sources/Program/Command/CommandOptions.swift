import ChatterdBasics
import ChatterdConfiguration

/// The arguments of a command, as options with values and other words. Each reader removes what it has read.
struct CommandOptions {
    private var arguments: [String]

    init(_ arguments: ArraySlice<String>) {
        self.arguments = Array(arguments)
    }

    /// The value of an option, given as `--name value` or `--name=value`; `nil` without the option.
    mutating func value(_ name: String) throws(UsageError) -> String? {
        guard let index = arguments.firstIndex(where: { $0 == name || $0.hasPrefix(name + "=") }) else { return nil }
        let argument = arguments.remove(at: index)
        guard argument == name else { return String(argument.dropFirst(name.count + 1)) }
        guard index < arguments.count else { throw UsageError("\(name) needs a value") }
        return arguments.remove(at: index)
    }

    /// Whether an option without a value is given.
    mutating func flag(_ name: String) -> Bool {
        let isGiven = arguments.contains(name)
        arguments.removeAll { $0 == name }
        return isGiven
    }

    /// The elements of a comma-separated value.
    mutating func list(_ name: String) throws(UsageError) -> [String]? {
        try value(name).map { SettingText.list($0) }
    }

    /// A duration such as `90s`, `12h` or `30d`.
    mutating func duration(_ name: String) throws(UsageError) -> Duration? {
        guard let text = try value(name) else { return nil }
        guard let seconds = TimeText.seconds(text) else {
            throw UsageError("\(name) needs a duration such as 90s, 12h or 30d, not \"\(SettingText.excerpt(text))\"")
        }
        return .seconds(seconds)
    }

    /// A whole number from 0 to `limit`.
    mutating func number(_ name: String, upTo limit: Int) throws(UsageError) -> Int? {
        guard let text = try value(name) else { return nil }
        guard let number = Int(text), 0...limit ~= number else {
            throw UsageError("\(name) needs a whole number from 0, not \"\(SettingText.excerpt(text))\"")
        }
        return number
    }

    /// The next word that is no option; `nil` if there is none.
    mutating func next() -> String? {
        arguments.firstIndex { !$0.hasPrefix("-") }.map { arguments.remove(at: $0) }
    }

    /// Throws if an argument is left.
    func requireEmpty(_ command: String) throws(UsageError) {
        if let extra = arguments.first {
            throw UsageError("\(command) takes no \"\(SettingText.excerpt(extra))\"")
        }
    }
}
