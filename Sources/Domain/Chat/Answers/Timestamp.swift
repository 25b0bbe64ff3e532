import ChatterdBasics

extension ByteBuffer {
    /// Appends a time as RFC 3339 writes it, in UTC: `2026-11-20T10:39:26.491288Z`.
    ///
    /// The time is in nanoseconds since 1970; the fraction has six digits, or nine if six would lose precision.
    public mutating func append(rfc3339 nanoseconds: Int64) {
        let (seconds, fraction) = nanoseconds.flooredDivision(by: 1_000_000_000)
        let (days, second) = seconds.flooredDivision(by: 86_400)
        let date = Self.civilDate(days: days)
        append(date.year, digits: 4)
        append(UInt8(ascii: "-"))
        append(date.month, digits: 2)
        append(UInt8(ascii: "-"))
        append(date.day, digits: 2)
        append(UInt8(ascii: "T"))
        append(second / 3600, digits: 2)
        append(UInt8(ascii: ":"))
        append(second / 60 % 60, digits: 2)
        append(UInt8(ascii: ":"))
        append(second % 60, digits: 2)
        append(UInt8(ascii: "."))
        if fraction % 1000 == 0 {
            append(fraction / 1000, digits: 6)
        } else {
            append(fraction, digits: 9)
        }
        append(UInt8(ascii: "Z"))
    }

    private mutating func append(_ value: Int64, digits: Int) {
        var divisor: Int64 = 1
        for _ in 1..<digits { divisor *= 10 }
        while divisor > 0 {
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / divisor % 10))
            divisor /= 10
        }
    }

    /// The date in the Gregorian calendar, which repeats every 146,097 days; years are counted from March, so that the
    /// leap day comes last.
    private static func civilDate(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, day) = (days + 719_468).flooredDivision(by: 146_097)
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365
        let dayOfYear = day - (365 * year + year / 4 - year / 100)
        let month = (5 * dayOfYear + 2) / 153
        return (
            era * 400 + year + (month < 10 ? 0 : 1), month < 10 ? month + 3 : month - 9,
            dayOfYear - (153 * month + 2) / 5 + 1
        )
    }
}

extension Int64 {
    /// Quotient towards negative infinity, and a remainder that is never negative.
    fileprivate func flooredDivision(by divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
