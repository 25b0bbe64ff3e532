import Bytes
import LanguageModels

extension Configuration {
    /// The value of `CHATTERD_UPSTREAMS`: a JSON list of model servers.
    struct UpstreamList {
        /// What was read.
        private(set) var upstreams: [Upstream] = []
        /// What was wrong with it; a problem names its entry and shows no key.
        private(set) var problems: [String] = []
        private let defaults: Upstreams

        /// Reads a list, or the file of that path.
        static func read(_ text: String, defaults: Upstreams, readFile: ConfigurationFile.Read) -> UpstreamList {
            var list = UpstreamList(defaults: defaults)
            switch text.first(where: { !$0.isWhitespace }) {
            case "[":
                list.parse(text)
            case "{":
                // Not a path, and it may hold a key.
                list.problems.append("not a JSON list: put [ and ] around it")
            default:
                switch readFile(text) {
                case .success(let content): list.parse(content)
                case .failure(let failure):
                    list.problems.append("neither a JSON list nor the path of a readable file: \(failure.reason)")
                }
            }
            return list
        }

        private init(defaults: Upstreams) {
            self.defaults = defaults
        }

        private mutating func parse(_ text: String) {
            let bytes = Array(text.utf8)
            var number = 0
            do {
                var reader = JSONReader(bytes.span)
                try reader.beginArray()
                while try reader.nextElement() {
                    number += 1
                    guard try reader.kind() == .object else {
                        try reader.skipValue()
                        problems.append("entry \(number) is not an object")
                        continue
                    }
                    take(try UpstreamEntry(from: &reader, number: number))
                }
                try reader.finish()
            } catch {
                problems.append("not a JSON list of objects: \(error)")
            }
        }

        private mutating func take(_ entry: UpstreamEntry) {
            var entry = entry
            if let upstream = entry.upstream(defaults: defaults) {
                upstreams.append(upstream)
            }
            problems += entry.problems
        }
    }
}

/// One object of the list, before it is checked.
private struct UpstreamEntry {
    private enum Value {
        case string(String)
        case strings([String])
        case number(String)
        case other
    }

    private static let names = [
        "name", "kind", "url", "key", "models", "connect_timeout", "first_byte_timeout", "silence_timeout",
        "total_timeout",
    ]

    private var values: [String: Value] = [:]
    private let number: Int
    private(set) var problems: [String] = []

    init(from reader: inout JSONReader, number: Int) throws(JSONError) {
        self.number = number
        var unknown: [String] = []
        var double: [String] = []
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let name = String(decodingJSON: reader.bytes.extracting(key.range))
            let value = try Self.value(from: &reader)
            if !Self.names.contains(name) {
                unknown.append(name)
            } else if values.updateValue(value, forKey: name) != nil {
                double.append(name)
            }
        }
        for name in unknown {
            report("\"\(SettingReader.excerpt(name))\" is not a field; there are \(Self.names.joined(separator: ", "))")
        }
        for name in double {
            report("\(name) is given twice")
        }
    }

    private static func value(from reader: inout JSONReader) throws(JSONError) -> Value {
        switch try reader.kind() {
        case .string:
            return .string(try string(from: &reader))
        case .number:
            let range = try reader.skipValue()
            return .number(String(decodingJSON: reader.bytes.extracting(range)))
        case .array:
            var strings: [String] = []
            var isPure = true
            try reader.beginArray()
            while try reader.nextElement() {
                if try reader.kind() == .string {
                    strings.append(try string(from: &reader))
                } else {
                    try reader.skipValue()
                    isPure = false
                }
            }
            return isPure ? .strings(strings) : .other
        default:
            try reader.skipValue()
            return .other
        }
    }

    private static func string(from reader: inout JSONReader) throws(JSONError) -> String {
        let string = try reader.string()
        return String(decodingJSON: reader.bytes.extracting(string.range))
    }

    private mutating func report(_ problem: String) {
        if case .string(let name) = values["name"] {
            problems.append("entry \(number) (\"\(SettingReader.excerpt(name))\"): \(problem)")
        } else {
            problems.append("entry \(number): \(problem)")
        }
    }

    /// The entry as a model server; nil, and problems, when it is none.
    mutating func upstream(defaults: Configuration.Upstreams) -> Configuration.Upstream? {
        let name = text("name", isRequired: true)
        let backend = backend()
        let key = text("key")
        let models = models()
        var limits = defaults.limits
        limits.firstByte = duration("first_byte_timeout", .upstreamFirstByteTimeout) ?? limits.firstByte
        limits.silence = duration("silence_timeout", .upstreamSilenceTimeout) ?? limits.silence
        limits.total = duration("total_timeout", .upstreamTotalTimeout) ?? limits.total
        let connect = duration("connect_timeout", .upstreamConnectTimeout) ?? defaults.connectTimeout
        if let key, !key.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) {
            report("key must be visible ASCII characters")
        }
        guard let name, let backend, problems.isEmpty else { return nil }
        return Configuration.Upstream(
            name: name, backend: backend, key: key.map(ConfigurationSecret.init), models: models,
            connectTimeout: connect, limits: limits)
    }

    private mutating func backend() -> Configuration.Backend? {
        guard let kind = text("kind", isRequired: true) else { return nil }
        switch kind {
        case "ollama":
            guard let url = text("url", isRequired: true) else { return nil }
            do {
                return .ollama(try UpstreamURL(parsing: url))
            } catch {
                report("url: \(error.message)")
                return nil
            }
        case "echo":
            for name in ["url", "key"] where values[name] != nil {
                report("the kind echo takes no \(name)")
            }
            return .echo
        default:
            report("\"\(SettingReader.excerpt(kind))\" is not a kind; there are ollama and echo")
            return nil
        }
    }

    private mutating func text(_ name: String, isRequired: Bool = false) -> String? {
        switch values[name] {
        case .string(let text) where !text.isEmpty:
            return text
        case nil:
            if isRequired { report("\(name) is missing") }
        default:
            report("\(name) must be a string, and not empty")
        }
        return nil
    }

    private mutating func models() -> [String] {
        switch values["models"] {
        case nil: return []
        case .strings(let models) where !models.contains(""): return models
        default:
            report("models must be a list of names")
            return []
        }
    }

    private mutating func duration(_ name: String, _ setting: Setting) -> Duration? {
        guard case .duration(let range) = setting.entry.kind, let value = values[name] else { return nil }
        switch value {
        case .string(let text), .number(let text):
            switch SettingReader.duration(text, in: range) {
            case .success(let duration): return duration
            case .failure(let problem): report("\(name): \(problem.message)")
            }
        default:
            report("\(name) must be a duration such as \"30s\"")
        }
        return nil
    }
}
