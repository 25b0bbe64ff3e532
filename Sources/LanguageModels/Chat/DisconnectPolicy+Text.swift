extension DisconnectPolicy {
    /// The longest time that clients may ask for, in seconds: a day.
    public static let maximumSeconds = 86_400

    /// Reads what clients write: `finish`, `cancel`, or whole seconds up to `maximumSeconds`; nil for any other text.
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

    /// Nil when the time is longer than allowed, or negative.
    init?(seconds: Int) {
        guard 0...Self.maximumSeconds ~= seconds else { return nil }
        self = .cancel(after: .seconds(seconds))
    }
}
