/// Times as options and variables have them: `90s`, `12h`, `30d`.
enum TimeText {
    private static let units: [Character: Int] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
    /// Ten years.
    private static let limit = 315_360_000

    /// The seconds of a text, at least one; `nil` for any other text.
    static func seconds(_ text: String) -> Int? {
        guard let unit = text.last.flatMap({ units[$0] }), let count = Int(text.dropLast()), 1...(limit / unit) ~= count
        else { return nil }
        return count * unit
    }
}
