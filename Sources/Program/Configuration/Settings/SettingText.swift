/// The values of settings as text.
public enum SettingText {
    private static let timeUnits: [(suffix: String, factor: Int)] = [
        ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("", 1_000),
    ]
    private static let sizeUnits: [(suffix: String, factor: Int)] = [
        ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("", 1),
    ]

    /// Reads `500ms`, `30s`, `5m`, `1h`, or a bare number of seconds.
    static func duration(_ text: String, in range: ClosedRange<Duration>) throws(SettingProblem) -> Duration {
        try read(
            text, in: range, .duration(range),
            as: "a duration such as 500ms, 30s, 5m or 1h (or a bare number of seconds)"
        ) { text in
            scaled(text, units: timeUnits).map { .milliseconds($0) }
        }
    }

    /// Reads `64KiB`, `8MiB`, `1GiB`, or a bare number of bytes.
    static func bytes(_ text: String, in range: ClosedRange<Int>) throws(SettingProblem) -> Int {
        try read(
            text, in: range, .bytes(range), as: "a size such as 64KiB, 8MiB or 1GiB (or a bare number of bytes)"
        ) { text in
            scaled(text, units: sizeUnits)
        }
    }

    /// Reads a whole number of the things named.
    static func count(_ text: String, of noun: String, in range: ClosedRange<Int>) throws(SettingProblem) -> Int {
        try read(text, in: range, .count(range, of: noun), as: "a number of \(noun)") { text in
            scaled(text, units: [("", 1)])
        }
    }

    /// Reads one of a few words.
    static func choice(_ text: String, of words: [String]) throws(SettingProblem) -> String {
        guard words.contains(text) else { throw noChoice(text, of: words) }
        return text
    }

    /// The problem of a text that is none of a few words.
    static func noChoice(_ text: String, of words: [String]) -> SettingProblem {
        let list = words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
        return SettingProblem("\"\(excerpt(text))\" is not \(list)")
    }

    /// The elements of a comma-separated list, without white space around them. Empty elements are left out.
    public static func list(_ text: String) -> [String] {
        text.split(separator: ",").compactMap { element in
            let start = element.drop(while: \.isWhitespace)
            return start.lastIndex { !$0.isWhitespace }.map { String(start[...$0]) }
        }
    }

    /// Writes a duration in the largest unit that holds it whole.
    public static func duration(_ value: Duration) -> String {
        let milliseconds =
            value.components.seconds * 1_000 + value.components.attoseconds / 1_000_000_000_000_000
        for (suffix, size) in [("h", Int64(3_600_000)), ("m", 60_000), ("s", 1_000)]
        where milliseconds >= size && milliseconds % size == 0 {
            return "\(milliseconds / size)\(suffix)"
        }
        return milliseconds == 0 ? "0" : "\(milliseconds)ms"
    }

    /// Writes a size in the largest unit that holds it whole.
    public static func bytes(_ value: Int) -> String {
        for (suffix, size) in [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
        where value >= size && value % size == 0 {
            return "\(value / size)\(suffix)"
        }
        return "\(value)"
    }

    /// A text for a message: short, on one line.
    public static func excerpt(_ text: String) -> String {
        let start = text.unicodeScalars.prefix(60)
        let oneLine = String(String.UnicodeScalarView(start.map { $0.value >= 0x20 ? $0 : "?" }))
        return start.endIndex < text.endIndex ? oneLine + "…" : oneLine
    }

    private static func read<Value: Comparable>(
        _ text: String, in range: ClosedRange<Value>, _ kind: Setting.Kind, as form: String,
        _ parse: (String) -> Value?
    ) throws(SettingProblem) -> Value {
        let bounds = kind.bounds ?? ""
        guard let value = parse(text) else {
            throw SettingProblem("\"\(excerpt(text))\" is not \(form), \(bounds)")
        }
        guard range.contains(value) else {
            throw SettingProblem("\(excerpt(text)) is out of bounds: \(bounds)")
        }
        return value
    }

    /// Digits with the suffix of a unit. A number too large for an `Int` counts as the largest one.
    private static func scaled(_ text: String, units: [(suffix: String, factor: Int)]) -> Int? {
        let digits = text.utf8.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        let suffix = text[digits.endIndex...]
        guard !digits.isEmpty, let unit = units.first(where: { $0.suffix == suffix }) else { return nil }
        let (value, overflows) = (Int(Substring(digits)) ?? .max).multipliedReportingOverflow(by: unit.factor)
        return overflows ? .max : value
    }
}

/// Why a text is not the value of a setting. Holds no secret.
public struct SettingProblem: Error, Sendable, Equatable {
    /// The problems, each in a few words that can follow the name of the variable and a colon.
    public let messages: [String]

    init(_ message: String) {
        messages = [message]
    }

    /// Creates a problem of a text with several mistakes.
    init(_ messages: [String]) {
        self.messages = messages
    }

    /// All problems in one line.
    public var message: String { messages.joined(separator: "; ") }
}
