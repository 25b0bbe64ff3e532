import ChatterdBasics
import ChatterdSockets

/// How the value of a variable is read, and which field of the configuration it sets.
struct SettingForm: Sendable {
    /// Sets a field to a value. Throws if the field refuses the value.
    typealias Setter<Value> =
        @Sendable (_ configuration: inout Configuration, _ value: Value) throws(SettingProblem) -> Void

    /// The form, for people.
    let kind: Setting.Kind
    /// Reads a text and sets the field.
    let store:
        @Sendable (_ text: String, _ configuration: inout Configuration, _ readFile: ConfigurationFile.Read)
            throws(SettingProblem) -> Void

    private init<Value>(
        _ kind: Setting.Kind, _ set: @escaping Setter<Value>,
        read: @escaping @Sendable (_ text: String) throws(SettingProblem) -> Value
    ) {
        self.kind = kind
        store = { text, configuration, _ throws(SettingProblem) in try set(&configuration, try read(text)) }
    }

    private init(
        _ kind: Setting.Kind, _ set: @escaping Setter<String>,
        readWithFile read:
            @escaping @Sendable (_ text: String, _ readFile: ConfigurationFile.Read) throws(SettingProblem) -> String
    ) {
        self.kind = kind
        store = { text, configuration, readFile throws(SettingProblem) in
            try set(&configuration, try read(text, readFile))
        }
    }
}

extension SettingForm {
    static func text(_ set: @escaping Setter<String>) -> SettingForm {
        SettingForm(.text, set) { $0 }
    }

    static func hostAndPort(_ set: @escaping Setter<HostAndPort>) -> SettingForm {
        SettingForm(.hostAndPort, set) { text throws(SettingProblem) in
            do throws(SocketError) {
                return try HostAndPort(parsing: text)
            } catch {
                throw SettingProblem(error.message)
            }
        }
    }

    static func url(_ set: @escaping Setter<UpstreamURL>) -> SettingForm {
        SettingForm(.url, set) { text throws(SettingProblem) in try UpstreamURL(parsing: text) }
    }

    static func duration(_ bounds: ClosedRange<Duration>, _ set: @escaping Setter<Duration>) -> SettingForm {
        SettingForm(.duration(bounds), set) { text throws(SettingProblem) in
            try SettingText.duration(text, in: bounds)
        }
    }

    static func bytes(_ bounds: ClosedRange<Int>, _ set: @escaping Setter<Int>) -> SettingForm {
        SettingForm(.bytes(bounds), set) { text throws(SettingProblem) in try SettingText.bytes(text, in: bounds) }
    }

    static func rate(_ bounds: ClosedRange<Int>, _ set: @escaping Setter<Int>) -> SettingForm {
        SettingForm(.rate(bounds), set) { text throws(SettingProblem) in try SettingText.bytes(text, in: bounds) }
    }

    static func count(_ bounds: ClosedRange<Int>, of noun: String, _ set: @escaping Setter<Int>) -> SettingForm {
        SettingForm(.count(bounds, of: noun), set) { text throws(SettingProblem) in
            try SettingText.count(text, of: noun, in: bounds)
        }
    }

    static func flag(_ set: @escaping Setter<Bool>) -> SettingForm {
        SettingForm(.flag, set) { text throws(SettingProblem) in try SettingText.choice(text, of: ["0", "1"]) == "1" }
    }

    /// One of the cases of an enumeration.
    static func choice<Value: RawRepresentable & CaseIterable & Sendable>(
        _ set: @escaping Setter<Value>
    ) -> SettingForm where Value.RawValue == String {
        let words = Value.allCases.map(\.rawValue)
        return SettingForm(.choice(words), set) { text throws(SettingProblem) in
            guard let value = Value(word: text) else { throw SettingText.noChoice(text, of: words) }
            return value
        }
    }

    /// The path of a file, absolute or relative.
    static func file(_ set: @escaping Setter<String>) -> SettingForm {
        SettingForm(.path, set) { text throws(SettingProblem) in
            // The system would read a shorter path up to a NUL.
            guard text.unicodeScalars.allSatisfy({ $0.value >= 0x20 }) else {
                throw SettingProblem("it has a control character")
            }
            return text
        }
    }

    /// The absolute path of a directory.
    static func directory(_ set: @escaping Setter<String>) -> SettingForm {
        SettingForm(.path, set) { text throws(SettingProblem) in
            guard text.hasPrefix("/") else {
                throw SettingProblem("\"\(SettingText.excerpt(text))\" is not a path that begins with a slash")
            }
            return text
        }
    }

    static func list(of noun: String, _ set: @escaping Setter<[String]>) -> SettingForm {
        SettingForm(.list(of: noun), set) { SettingText.list($0) }
    }

    /// A JSON list, or the path of a file that holds one.
    static func jsonList(_ set: @escaping Setter<String>) -> SettingForm {
        json(set, noun: "list", first: "[", wrong: "{", advice: "put [ and ] around it")
    }

    /// A JSON object, or the path of a file that holds one.
    static func jsonObject(_ set: @escaping Setter<String>) -> SettingForm {
        json(set, noun: "object", first: "{", wrong: "[", advice: "it begins with {")
    }

    /// A JSON text that begins with `first`. One that begins with `wrong` is no path, and it may hold a key.
    private static func json(
        _ set: @escaping Setter<String>, noun: String, first: Character, wrong: Character, advice: String
    ) -> SettingForm {
        SettingForm(
            .json, set,
            readWithFile: { text, readFile throws(SettingProblem) in
                let start = text.first { !$0.isWhitespace }
                if start == first { return text }
                if start == wrong { throw SettingProblem("not a JSON \(noun): \(advice)") }
                switch readFile(text) {
                case .success(let content): return content
                case .failure(let failure):
                    throw SettingProblem(
                        "neither a JSON \(noun) nor the path of a readable file: \(failure.reason)")
                }
            })
    }
}
