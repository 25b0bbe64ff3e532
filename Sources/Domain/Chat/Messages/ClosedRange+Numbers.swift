extension [ClosedRange<Int64>] {
    /// Appends a number that is greater than all others.
    public mutating func append(number: Int64) {
        append(numbers: number...number)
    }

    /// Appends numbers that are greater than all others. Adjacent ranges become one.
    public mutating func append(numbers: ClosedRange<Int64>) {
        if let last = last, last.upperBound + 1 == numbers.lowerBound {
            self[count - 1] = last.lowerBound...numbers.upperBound
        } else {
            append(numbers)
        }
    }
}
