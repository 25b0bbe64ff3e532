import ChatterdBasics

/// The name of a value. Its text is built only for an error message.
struct ChatRequestFieldName: ExpressibleByStringLiteral {
    private let message: Int?
    private let member: StaticString

    init(stringLiteral member: StaticString) {
        message = nil
        self.member = member
    }

    /// Names an element of `messages`, or one of its members.
    init(message: Int, _ member: StaticString = "") {
        self.message = message
        self.member = member
    }

    var words: String {
        guard let message else { return "\(member)" }
        return member.utf8CodeUnitCount == 0 ? "messages[\(message)]" : "messages[\(message)].\(member)"
    }
}
