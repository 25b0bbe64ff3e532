extension HTTPDate {
    /// The seconds since 1970 of a date in the preferred form of RFC 9110 section 5.6.7, `Sun, 06 Nov 1994 08:49:37 GMT`;
    /// `nil` for any other text.
    public static func seconds(of text: String) -> Int? {
        let bytes = Array(text.utf8)
        guard bytes.count == 29, bytes[25...].elementsEqual(" GMT".utf8), bytes[3] == UInt8(ascii: ","),
            [4, 7, 11, 16].allSatisfy({ bytes[$0] == Grammar.space }),
            bytes[19] == UInt8(ascii: ":"), bytes[22] == UInt8(ascii: ":"),
            let day = number(bytes[5..<7]), let month = month(bytes[8..<11]), let year = number(bytes[12..<16]),
            let hour = number(bytes[17..<19]), let minute = number(bytes[20..<22]), let second = number(bytes[23..<25]),
            1...31 ~= day, hour < 24, minute < 60, second <= 60
        else { return nil }
        return days(year: year, month: month, day: day) * 86_400 + hour * 3600 + minute * 60 + second
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        guard digits.allSatisfy(Grammar.isDigit) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 & 0x0F) }
    }

    private static func month(_ name: ArraySlice<UInt8>) -> Int? {
        months.firstIndex { $0.utf8.elementsEqual(name) }.map { $0 + 1 }
    }

    /// The days from 1970-01-01 to a date of the Gregorian calendar; years begin in March here.
    private static func days(year: Int, month: Int, day: Int) -> Int {
        let shiftedYear = month > 2 ? year : year - 1
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}
