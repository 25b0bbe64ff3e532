/// Times in the options and variables of the programs: `90s`, `12h`, `30d`.
public enum TimeText {
    private static let units: [(suffix: String, seconds: Int)] = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400)]
    /// Ten years.
    private static let limit = 315_360_000

    /// The seconds of a text, at least one; `nil` for any other text.
    public static func seconds(_ text: String) -> Int? {
        guard let unit = units.first(where: { text.hasSuffix($0.suffix) })?.seconds,
            let count = Int(Substring(text.utf8.dropLast())), 1...(limit / unit) ~= count
        else { return nil }
        return count * unit
    }
}
