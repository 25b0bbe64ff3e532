import ChatterdBasics

extension ReplyID {
    /// The size of the text form, in bytes.
    public static let textLength = 36

    /// Parses the text form of a UUID, RFC 9562 section 4, in either case; `nil` for any other text.
    public init?(parsing text: some StringProtocol) {
        guard text.utf8.count == Self.textLength else { return nil }
        var halves: (UInt64, UInt64) = (0, 0)
        for (index, byte) in text.utf8.enumerated() {
            if Self.isHyphen(index) {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            guard let digit = byte.hexDigitValue else { return nil }
            halves.0 = halves.0 << 4 | halves.1 >> 60
            halves.1 = halves.1 << 4 | UInt64(digit)
        }
        (high, low) = halves
    }

    private static func isHyphen(_ index: Int) -> Bool {
        index == 8 || index == 13 || index == 18 || index == 23
    }
}

extension ReplyID: CustomStringConvertible {
    /// The text form of the UUID, in lower case.
    public var description: String {
        String(unsafeUninitializedCapacity: 36) { text in
            var rest = (high, low)
            for index in 0..<36 {
                guard !Self.isHyphen(index) else {
                    text[index] = UInt8(ascii: "-")
                    continue
                }
                let digit = UInt8(truncatingIfNeeded: rest.0 >> 60)
                text[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
                rest = (rest.0 << 4 | rest.1 >> 60, rest.1 << 4)
            }
            return 36
        }
    }
}

extension TurnParent {
    /// Parses the text of clients: `start`, or the id of a reply; `nil` for any other text.
    public init?(parsing text: some StringProtocol) {
        if text == "start" {
            self = .start
        } else if let id = ReplyID(parsing: text) {
            self = .reply(id)
        } else {
            return nil
        }
    }
}
