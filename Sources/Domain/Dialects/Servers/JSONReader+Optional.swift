import ChatterdBasics

extension JSONReader {
    /// Skips a value of any type. Returns it if it is a string that is not empty.
    mutating func textOrSkip() throws(JSONError) -> JSONString? {
        guard let string = try stringOrSkip(), !string.range.isEmpty else { return nil }
        return string
    }

    /// Skips a value of any type. Returns it if it is a whole number.
    mutating func integerOrSkip() throws(JSONError) -> Int? {
        if try kind() == .number { return try integer() }
        try skipValue()
        return nil
    }

    /// Skips a value of any type. Returns it if it is a count above zero.
    mutating func positiveCountOrSkip() throws(JSONError) -> Int? {
        try countOrSkip().flatMap { $0 > 0 ? $0 : nil }
    }
}
