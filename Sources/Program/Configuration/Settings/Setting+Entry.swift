extension Setting {
    /// The form of a value, with its bounds.
    public enum Kind: Sendable, Equatable {
        /// Any text.
        case text
        /// `host:port`.
        case hostAndPort
        /// `http://host:port` or `https://…`.
        case url
        /// `500ms`, `30s`, `5m`, `1h`, or a bare number of seconds.
        case duration(ClosedRange<Duration>)
        /// `64KiB`, `8MiB`, `1GiB`, or a bare number of bytes.
        case bytes(ClosedRange<Int>)
        /// `1KiB` and the like, each second.
        case rate(ClosedRange<Int>)
        /// A whole number of the things named.
        case count(ClosedRange<Int>, of: String)
        /// `0` or `1`.
        case flag
        /// One of a few words.
        case choice([String])
        /// The path of a file.
        case path
        /// A list of the things named, separated by commas.
        case list(of: String)
        /// A JSON text, or the path of a file that holds it.
        case json
    }

    /// The value of a variable that is not set.
    public enum Default: Sendable, Equatable {
        /// A value in the variable's own form.
        case value(String)
        /// No value; the words say what happens then.
        case absent(String)
    }

    /// The part of the server that a variable is about; also the order of the lists.
    public enum Group: String, CaseIterable, Sendable {
        case process = "Process"
        case database = "PostgreSQL"
        case upstreams = "Model servers"
        case replies = "Replies and conversations"
        case clients = "Clients"
        case traces = "Traces"
    }

    /// A row of the table.
    public struct Entry: Sendable {
        /// The part of the server that the variable is about.
        public let group: Group
        /// How its value is read, and which field it sets.
        let form: SettingForm
        /// The value of a variable that is not set.
        public let standard: Default
        /// The meaning, in one sentence.
        public let meaning: String
        /// Whether the value is never shown.
        public let isSecret: Bool
        /// Whether the variable bounds a size, a count or a wait that a peer controls.
        public let isLimit: Bool
    }
}

extension Setting.Entry {
    /// The form of the value.
    public var kind: Setting.Kind { form.kind }

    /// The default, for people.
    public var standardText: String {
        switch standard {
        case .value(let text), .absent(let text): text
        }
    }

    /// The unit, for people.
    public var unit: String {
        switch kind {
        case .text: "text"
        case .hostAndPort: "host:port"
        case .url: "URL"
        case .duration: "time"
        case .bytes: "size"
        case .rate: "size a second"
        case .count(_, let noun): noun
        case .flag: "0 or 1"
        case .choice(let words): words.joined(separator: ", ")
        case .path: "path"
        case .list(let noun): "comma-separated \(noun)"
        case .json: "JSON or path"
        }
    }

    /// The bounds, for people; `nil` if the form has none.
    public var bounds: String? { kind.bounds }
}

extension Setting.Kind {
    /// The bounds, for people; `nil` if the form has none.
    var bounds: String? {
        switch self {
        case .duration(let range):
            "\(SettingText.duration(range.lowerBound)) to \(SettingText.duration(range.upperBound))"
        case .bytes(let range), .rate(let range):
            "\(SettingText.bytes(range.lowerBound)) to \(SettingText.bytes(range.upperBound))"
        case .count(let range, _): "\(range.lowerBound) to \(range.upperBound)"
        default: nil
        }
    }
}
