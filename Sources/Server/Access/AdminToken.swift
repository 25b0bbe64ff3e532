import ChatterdConfiguration

/// The token of the administrator.
struct AdminToken: Sendable {
    private let token: [UInt8]

    init(_ token: ConfigurationSecret) {
        self.token = Array(token.value.utf8)
    }

    /// Whether a text is the token. Takes a time that depends on the length of `text` only, not on the number of right bytes.
    func matches(_ text: String) -> Bool {
        let other = text.utf8
        var difference = token.count ^ other.count
        for (index, byte) in other.enumerated() {
            difference |= Int(token[index % token.count] ^ byte)
        }
        return difference == 0
    }
}
