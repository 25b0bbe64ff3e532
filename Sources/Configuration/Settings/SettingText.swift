import ChatterdJSONLog

/// Durations, sizes and counts as people write them in a variable.
public enum SettingText {
    private static let timeUnits: [(suffix: String, milliseconds: Int)] = [
        ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("", 1_000),
    ]
    private static let sizeUnits: [(suffix: String, bytes: Int)] = [
        ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("", 1),
    ]

    /// Reads `500ms`, `30s`, `5m`, `1h`, or a bare number of seconds; nil when the text is none of them.
    public static func duration(_ text: String) -> Duration? {
        let (number, suffix) = split(text)
        guard let number, let unit = timeUnits.first(where: { $0.suffix == suffix }) else { return nil }
        let (milliseconds, isAbsurd) = number.multipliedReportingOverflow(by: unit.milliseconds)
        return .milliseconds(isAbsurd ? Int.max : milliseconds)
    }

    /// Reads `64KiB`, `8MiB`, `1GiB`, or a bare number of bytes; nil when the text is none of them.
    public static func bytes(_ text: String) -> Int? {
        let (number, suffix) = split(text)
        guard let number, let unit = sizeUnits.first(where: { $0.suffix == suffix }) else { return nil }
        let (bytes, isAbsurd) = number.multipliedReportingOverflow(by: unit.bytes)
        return isAbsurd ? .max : bytes
    }

    /// Reads a whole number; nil when the text is none.
    public static func count(_ text: String) -> Int? {
        let (number, suffix) = split(text)
        return suffix.isEmpty ? number : nil
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

    /// Parts the digits from the unit; a number too large for an Int is taken as the largest one.
    private static func split(_ text: String) -> (number: Int?, suffix: Substring) {
        let digits = text.utf8.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        let suffix = text[digits.endIndex...]
        guard !digits.isEmpty else { return (nil, suffix) }
        return (Int(Substring(digits)) ?? .max, suffix)
    }
}
