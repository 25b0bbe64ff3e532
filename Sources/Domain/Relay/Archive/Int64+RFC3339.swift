extension Int64 {
    /// Parses a time in UTC with microseconds, as `ByteBuffer.append(rfc3339:)` writes it, into microseconds since 1970. `nil` for any
    /// other text, and outside of the years 1700 to 2261.
    public init?(rfc3339 text: Span<UInt8>) {
        let form = Array("dddd-dd-ddTdd:dd:dd.ddddddZ".utf8)
        guard text.count == form.count else { return nil }
        var numbers: [Int64] = [0]
        for index in form.indices {
            if form[index] == UInt8(ascii: "d") {
                guard 0x30...0x39 ~= text[index] else { return nil }
                numbers[numbers.count - 1] = numbers[numbers.count - 1] * 10 + Int64(text[index] - 0x30)
            } else {
                guard text[index] == form[index] else { return nil }
                numbers.append(0)
            }
        }
        let (year, month, day) = (numbers[0], numbers[1], numbers[2])
        let (hour, minute, second) = (numbers[3], numbers[4], numbers[5])
        guard 1700...2261 ~= year, 1...12 ~= month, 1...Self.days(in: month, of: year) ~= day, hour < 24, minute < 60,
            second < 60
        else { return nil }
        let days = Self.days(before: year, month) + day - 1
        self = ((days * 24 + hour) * 60 + minute) * 60_000_000 + second * 1_000_000 + numbers[6]
    }

    private static func isLeap(_ year: Int64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    private static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// The days from 1970 to the first day of a month.
    private static func days(before year: Int64, _ month: Int64) -> Int64 {
        let past = year - 1
        let leapDays = past / 4 - past / 100 + past / 400 - (1969 / 4 - 1969 / 100 + 1969 / 400)
        return (1..<month).reduce(365 * (year - 1970) + leapDays) { $0 + days(in: $1, of: year) }
    }
}
