import ChatterdJSONLog
import ChatterdSockets

/// Reads settings from an environment, and gathers every problem on the way, so that all are told at once.
public struct SettingReader {
    private let environment: [String: String]
    private let readFile: ConfigurationFile.Read
    /// One line for each problem found so far.
    private(set) var problems: [String] = []
    /// The variables that were set, with their values as they may be shown.
    private(set) var given: [(name: String, shown: String)] = []

    init(environment: [String: String], readFile: @escaping ConfigurationFile.Read) {
        self.environment = environment
        self.readFile = readFile
        refuseUnknownNames()
    }

    /// Adds a problem of its own.
    mutating func report(_ problem: String) {
        problems.append(problem)
    }

    /// Whether the variable, or its file, is set.
    func isSet(_ setting: Setting) -> Bool {
        present(setting.name) != nil || present(setting.fileName) != nil
    }

    /// Whether any variable of these names is set, known to the table or not.
    func isAnySet(_ names: [String]) -> Bool {
        names.contains { present($0) != nil }
    }

    /// The text of a variable, its file's content, or its default; nil when there is none of them.
    mutating func text(_ setting: Setting) -> String? {
        let value = present(setting.name)
        if let path = present(setting.fileName) {
            given.append((setting.fileName, path))
            guard value == nil else {
                report("\(setting.name) and \(setting.fileName) are both set: keep one of them")
                return nil
            }
            return content(of: path, for: setting)
        }
        if let value {
            given.append((setting.name, setting.entry.isSecret ? "(secret)" : value))
            return value
        }
        guard case .value(let text) = setting.entry.standard else { return nil }
        return text
    }

    private func present(_ name: String) -> String? {
        // An empty variable is what Compose makes of `${NAME:-}`: not set.
        guard let value = environment[name], !value.isEmpty else { return nil }
        return value
    }

    private mutating func content(of path: String, for setting: Setting) -> String? {
        switch readFile(path) {
        case .failure(let failure):
            report("\(setting.fileName): \(path) cannot be read: \(failure.reason)")
            return nil
        case .success(let text):
            let trimmed = ConfigurationFile.withoutLineEnd(text)
            guard !trimmed.isEmpty else {
                report("\(setting.fileName): \(path) is empty")
                return nil
            }
            return trimmed
        }
    }

    private mutating func refuseUnknownNames() {
        for name in environment.keys.sorted() where name.hasPrefix("CHATTERD_") {
            guard !Setting.allCases.contains(where: { $0.name == name || $0.fileName == name }) else { continue }
            report("\(name) is not a variable of chatterd; did you mean \(Setting.nearestName(to: name))?")
        }
    }
}

extension SettingReader {
    mutating func hostAndPort(_ setting: Setting) -> HostAndPort? {
        guard let text = text(setting) else { return nil }
        do {
            return try HostAndPort(parsing: text)
        } catch {
            report("\(setting.name): \(error.message)")
            return nil
        }
    }

    mutating func url(_ setting: Setting) -> UpstreamURL? {
        guard let text = text(setting) else { return nil }
        do {
            return try UpstreamURL(parsing: text)
        } catch {
            report("\(setting.name): \(error.message)")
            return nil
        }
    }

    /// A path that begins with a slash.
    mutating func path(_ setting: Setting) -> String? {
        guard let text = text(setting) else { return nil }
        guard text.hasPrefix("/") else {
            report("\(setting.name): \"\(Self.excerpt(text))\" is not a path that begins with a slash")
            return nil
        }
        return text
    }

    /// The elements of a comma-separated list, without white space around them; empty if the setting is absent.
    mutating func list(_ setting: Setting) -> [String] {
        guard let text = text(setting) else { return [] }
        return text.split(separator: ",").map { $0.drop(while: \.isWhitespace) }
            .map { element in
                let end = element.lastIndex { !$0.isWhitespace }
                return end.map { String(element[...$0]) } ?? ""
            }
            .filter { !$0.isEmpty }
    }

    mutating func flag(_ setting: Setting) -> Bool {
        choice(setting, ["0", "1"]) == "1"
    }

    mutating func choice(_ setting: Setting) -> String? {
        guard case .choice(let words) = setting.entry.kind else { return nil }
        return choice(setting, words)
    }

    private mutating func choice(_ setting: Setting, _ words: [String]) -> String? {
        guard let text = text(setting) else { return nil }
        guard words.contains(text) else {
            let list = words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
            report("\(setting.name): \"\(Self.excerpt(text))\" is not \(list)")
            return nil
        }
        return text
    }

    /// The duration, or zero when a problem was reported or the variable has neither value nor default.
    mutating func duration(_ setting: Setting) -> Duration {
        guard let text = text(setting), case .duration(let range) = setting.entry.kind else { return .zero }
        switch Self.duration(text, in: range) {
        case .success(let value): return value
        case .failure(let problem):
            report("\(setting.name): \(problem.message)")
            return .zero
        }
    }

    /// The number of bytes, of bytes a second, or of things; nil as for `duration`.
    mutating func number(_ setting: Setting) -> Int? {
        guard let text = text(setting) else { return nil }
        let entry = setting.entry
        let (value, range, form): (Int?, ClosedRange<Int>, String)
        switch entry.kind {
        case .bytes(let bounds), .rate(let bounds):
            (value, range, form) = (
                SettingText.bytes(text), bounds, "a size such as 64KiB, 8MiB or 1GiB (or a bare number of bytes)"
            )
        case .count(let bounds, let noun):
            (value, range, form) = (SettingText.count(text), bounds, "a number of \(noun)")
        default:
            return nil
        }
        guard let value else {
            report("\(setting.name): \"\(Self.excerpt(text))\" is not \(form), \(entry.bounds ?? "")")
            return nil
        }
        guard range.contains(value) else {
            report("\(setting.name): \(Self.excerpt(text)) is out of bounds: \(entry.bounds ?? "")")
            return nil
        }
        return value
    }

    /// Why a text is not the value that is wanted.
    public struct Problem: Error {
        let message: String
    }

    /// Reads a duration within bounds.
    static func duration(_ text: String, in range: ClosedRange<Duration>) -> Result<Duration, Problem> {
        let bounds = "\(SettingText.duration(range.lowerBound)) to \(SettingText.duration(range.upperBound))"
        guard let value = SettingText.duration(text) else {
            return .failure(
                Problem(
                    message: "\"\(excerpt(text))\" is not a duration such as 500ms, 30s, 5m or 1h "
                        + "(or a bare number of seconds), \(bounds)"))
        }
        guard range.contains(value) else {
            return .failure(Problem(message: "\(excerpt(text)) is out of bounds: \(bounds)"))
        }
        return .success(value)
    }

    /// A value fit for a message: short, on one line.
    public static func excerpt(_ text: String) -> String {
        let oneLine = String(text.prefix(60).map { $0.unicodeScalars.allSatisfy { $0.value >= 0x20 } ? $0 : "?" })
        return oneLine.count < text.count ? oneLine + "…" : oneLine
    }
}
