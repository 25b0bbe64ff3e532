import ChatterdBasics

/// Reads the settings of an environment, and collects all problems.
struct SettingReader {
    private let environment: [String: String]
    let readFile: ConfigurationFile.Read
    /// The problems found so far, one line each.
    private(set) var problems: [String] = []
    /// The variables that are set, with their values as they may be shown.
    private(set) var given: [(name: String, shown: String)] = []

    init(environment: [String: String], readFile: @escaping ConfigurationFile.Read) {
        self.environment = environment
        self.readFile = readFile
        refuseUnknownNames()
    }

    /// Sets the fields of a configuration to the values of their variables, or to their defaults.
    mutating func read(into configuration: inout Configuration) {
        // The list of model servers is read last: its entries use limits that other variables set.
        for setting in Setting.allCases.filter({ $0 != .upstreams }) + [.upstreams] {
            guard let text = text(setting) else { continue }
            do throws(SettingProblem) {
                try setting.entry.form.store(text, &configuration, readFile)
            } catch {
                problems += error.messages.map { "\(setting.name): \($0)" }
            }
        }
    }

    /// Adds a problem that concerns several variables.
    mutating func report(_ problem: String) {
        problems.append(problem)
    }

    /// Whether the variable, or its file, is set.
    func isSet(_ setting: Setting) -> Bool {
        value(of: setting.name) != nil || value(of: setting.fileName) != nil
    }

    /// Whether any variable of these names is set, known to the table or not.
    func isAnySet(_ names: [String]) -> Bool {
        names.contains { value(of: $0) != nil }
    }

    /// The text of a variable, its file's content, or its default; `nil` if there is none of them.
    private mutating func text(_ setting: Setting) -> String? {
        let value = value(of: setting.name)
        if let path = self.value(of: setting.fileName) {
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

    /// The value of a variable. Empty ones count as absent: Compose makes them of `${NAME:-}`.
    private func value(of name: String) -> String? {
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

extension Setting {
    /// The known name with the most similar spelling.
    fileprivate static func nearestName(to name: String) -> String {
        let known = allCases.flatMap { [$0.name, $0.fileName] }.filter { $0.hasPrefix("CHATTERD_") }
        return NearestNames.nearest(to: name, among: known) ?? listen.name
    }
}
