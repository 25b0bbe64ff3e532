import ChatterdBasics
import ChatterdIdentity

extension ExceededLimit {
    /// Reads the message with which `chatterd_charge` refuses a request; `nil` for another text.
    init?(refusal message: String) {
        let words = message.split(separator: " ")
        let numbers = words.dropFirst(2).compactMap { Int($0) }
        guard words.count == 12, numbers.count == 10, let name = Name(rawValue: String(words[0])) else { return nil }
        self.init(
            name, isOwners: words[1] == "owner", maximum: numbers[0], remaining: numbers[1], reset: numbers[2],
            needed: numbers[3],
            quota: Quota(requests: Self.level(numbers[4...6]), tokens: Self.level(numbers[7...9])))
    }

    /// A maximum below 0 stands for no limit.
    private static func level(_ numbers: ArraySlice<Int>) -> Quota.Level? {
        let first = numbers.startIndex
        guard numbers[first] >= 0 else { return nil }
        return Quota.Level(maximum: numbers[first], remaining: numbers[first + 1], reset: numbers[first + 2])
    }
}
