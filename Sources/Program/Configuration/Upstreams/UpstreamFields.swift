import ChatterdBasics
import ChatterdChat
import ChatterdModelServers

/// The members of a JSON object that describes a model server, and their mistakes. No problem contains a key.
struct UpstreamFields {
    /// The known members; docs/configuration.md lists them.
    enum Name: String, CaseIterable {
        case name
        case kind
        case url
        case key
        case keyEnvironment = "key_env"
        case keyFile = "key_file"
        case headers
        case authorities = "ca_file"
        case allowsLinkLocal = "allow_link_local"
        case models
        case aliases
        case priority
        case slots
        case queueLimit = "queue_limit"
        case options
        case keepAlive = "keep_alive"
        case context
        case continuation
        case connectTimeout = "connect_timeout"
        case firstByteTimeout = "first_byte_timeout"
        case silenceTimeout = "silence_timeout"
        case totalTimeout = "total_timeout"
    }

    /// The maximum number of members of an object, and of elements of a list.
    private static let countLimit = 1_000
    /// Maximum bytes of the name of a model, or of a header's value.
    private static let textLimit = 1_000
    /// Maximum bytes of a text: a key has at most as many.
    private static let stringLimit = 8_192

    private var values: [Name: JSONSlice] = [:]
    /// One sentence for each problem.
    private(set) var problems: [String] = []

    /// Reads an object; `null` counts as absent.
    ///
    /// - Throws: `wrongType` for another value.
    init(of object: JSONSlice, ignoring ignored: Set<String>) throws(JSONError) {
        let fields = try ObjectFields<Name>(of: object, ignoring: ignored)
        (values, problems) = (fields.values, fields.problems)
    }

    /// Adds a problem.
    mutating func report(_ problem: String) {
        problems.append(problem)
    }

    /// Adds a problem of one member.
    mutating func report(_ name: Name, _ problem: String) {
        problems.append("\(name.rawValue) \(problem)")
    }

    /// Whether the object has a member.
    func has(_ name: Name) -> Bool { values[name] != nil }
}

extension UpstreamFields {
    /// A string that is not empty.
    mutating func text(_ name: Name, isRequired: Bool = false) -> String? {
        guard let value = values[name] else {
            if isRequired { report(name, "is missing") }
            return nil
        }
        guard let text = Self.string(value), !text.isEmpty else {
            report(name, "must be a string of 1 to \(Self.stringLimit) bytes")
            return nil
        }
        return text
    }

    /// A whole number within bounds.
    mutating func number(_ name: Name, in range: ClosedRange<Int>) -> Int? {
        guard let value = values[name] else { return nil }
        guard let number = value.integer, range.contains(number) else {
            report(name, "must be a whole number, \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return number
    }

    /// `true` or `false`.
    mutating func flag(_ name: Name) -> Bool? {
        guard let value = values[name] else { return nil }
        guard let flag = value.boolean else {
            report(name, "must be true or false")
            return nil
        }
        return flag
    }

    /// A duration in the form and the bounds of a setting.
    mutating func duration(_ name: Name, _ setting: Setting) -> Duration? {
        guard case .duration(let range) = setting.entry.kind, let value = values[name] else { return nil }
        let text = value.kind == .number ? String(decoding: value.bytes, as: UTF8.self) : Self.string(value)
        guard let text else {
            report(name, "must be a duration such as \"30s\"")
            return nil
        }
        do throws(SettingProblem) {
            return try SettingText.duration(text, in: range)
        } catch {
            report("\(name.rawValue): \(error.message)")
            return nil
        }
    }

    /// A list of names.
    mutating func names(_ name: Name) -> [String]? {
        guard let value = values[name] else { return nil }
        let elements = value.elements(first: Self.countLimit + 1)
        let names = (elements ?? []).compactMap(\.string).filter(Self.isName)
        guard let elements, names.count == elements.count, names.count <= Self.countLimit else {
            report(name, "must be a list of names")
            return nil
        }
        return names
    }

    /// An object whose values are strings, in its order.
    mutating func pairs(_ name: Name, of things: String) -> [(name: String, value: String)]? {
        guard let value = values[name] else { return nil }
        guard let members = value.members(first: Self.countLimit + 1), members.count <= Self.countLimit else {
            report(name, "must be an object of \(things)")
            return nil
        }
        var pairs: [(name: String, value: String)] = []
        for member in members {
            guard let text = Self.string(member.value), Self.isName(text), Self.isName(member.name),
                !pairs.contains(where: { $0.name == member.name })
            else {
                report(name, "must be an object of \(things)")
                return nil
            }
            pairs.append((member.name, text))
        }
        return pairs
    }

    /// An object, as a member of a request.
    mutating func object(_ name: Name) -> RawMember? {
        guard let value = values[name] else { return nil }
        guard value.kind == .object, value.range.count <= 1 << 16 else {
            report(name, "must be an object")
            return nil
        }
        return RawMember(key: name.rawValue, value: value.bytes)
    }

    /// A string or a number, as a member of a request.
    mutating func scalar(_ name: Name) -> RawMember? {
        guard let value = values[name] else { return nil }
        guard value.kind == .string || value.kind == .number, value.range.count <= Self.textLimit else {
            report(name, "must be a string or a number")
            return nil
        }
        return RawMember(key: name.rawValue, value: value.bytes)
    }

    private static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= textLimit && text.unicodeScalars.allSatisfy { $0.value >= 0x20 }
    }

    private static func string(_ value: JSONSlice) -> String? {
        value.string.flatMap { $0.utf8.count <= stringLimit ? $0 : nil }
    }
}
