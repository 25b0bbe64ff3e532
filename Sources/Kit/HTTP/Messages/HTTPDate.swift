import ChatterdBasics

/// The time in the form of the Date field, RFC 9110 section 5.6.7 (IMF-fixdate), cached for a second.
public struct HTTPDate: Sendable {
    private var second = Int.min
    private var cached: [UInt8] = []

    /// Creates an empty cache.
    public init() {}

    /// Appends a time given in seconds since 1970, UTC, from year 0 to 9999.
    public mutating func append(_ seconds: Int, to buffer: inout ByteBuffer) {
        if seconds != second {
            cached = Array(HTTPDate.text(seconds).utf8)
            second = seconds
        }
        buffer.append(cached)
    }

    /// The text of a time given in seconds since 1970, UTC, from year 0 to 9999.
    public static func text(_ seconds: Int) -> String {
        let days = (seconds >= 0 ? seconds : seconds - 86_399) / 86_400
        let rest = seconds - days * 86_400
        let (year, month, day) = civil(days)
        let weekday = weekdays[(days % 7 + 11) % 7]
        let clock = "\(two(rest / 3600)):\(two(rest / 60 % 60)):\(two(rest % 60))"
        let digits = String(year)
        let padding = String(repeating: "0", count: max(0, 4 - digits.count))
        return "\(weekday), \(two(day)) \(months[month - 1]) \(padding)\(digits) \(clock) GMT"
    }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func two(_ number: Int) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }

    /// The Gregorian date of a day counted from 1970-01-01: years begin in March here, eras have 400 years.
    private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }
}
