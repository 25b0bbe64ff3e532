import ChatterdBasics

/// What a value is called; put into words only when there is something to say about it.
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
