import ChatterdBasics

extension DisconnectPolicy {
    /// The limit of the time that clients may ask for, in seconds: a day.
    public static let maximumSeconds = 86_400

    /// Parses `finish`, `cancel`, or whole seconds up to `maximumSeconds`; `nil` for any other text.
    public init?(parsing text: some StringProtocol) {
        switch text {
        case "finish": self = .finish
        case "cancel": self = .cancel(after: .zero)
        default:
            let digits = text.utf8
            guard 1...5 ~= digits.count, digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
                let seconds = Int(text)
            else { return nil }
            self.init(seconds: seconds)
        }
    }

    /// Creates the policy of a time in seconds; `nil` if it is negative or above the limit.
    init?(seconds: Int) {
        guard 0...Self.maximumSeconds ~= seconds else { return nil }
        self = .cancel(after: .seconds(seconds))
    }
}
