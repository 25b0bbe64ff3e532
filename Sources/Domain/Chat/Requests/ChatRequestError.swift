import ChatterdBasics

/// The reason why the body of a chat request is rejected.
public struct ChatRequestError: Error, Equatable, Sendable {
    /// The kind of problem.
    public let problem: Problem

    /// The member with the problem, such as `messages[2].role`; `nil` for the body as a whole.
    public let field: String?

    /// A sentence for the client. Of the body it quotes only type names and numbers.
    public let message: String

    public init(problem: Problem, field: String?, message: String) {
        self.problem = problem
        self.field = field
        self.message = message
    }

    /// The kinds of problems.
    public enum Problem: String, Sendable, CaseIterable {
        /// The body is not a JSON text.
        case notJSON
        /// The body is not UTF-8.
        case notUTF8
        /// A member is absent or null.
        case missing
        /// A value has the wrong type.
        case wrongType
        /// A string or an array is empty, or a prompt is blank.
        case empty
        /// A string has more characters or bytes than allowed.
        case tooLong
        /// An array or object has more members than allowed.
        case tooMany
        /// A string has forbidden characters.
        case forbiddenCharacter
        /// A value has the right type, but is unknown.
        case unknownValue
        /// A member has no meaning in this request.
        case unknownMember
    }
}

extension ChatRequestError: CustomStringConvertible {
    /// The sentence for the client.
    public var description: String { message }
}

extension ChatRequestError {
    static func notJSON(_ error: JSONError) -> ChatRequestError {
        ChatRequestError(problem: .notJSON, field: nil, message: "The body is not JSON: \(error).")
    }

    static func notUTF8(at offset: Int) -> ChatRequestError {
        ChatRequestError(problem: .notUTF8, field: nil, message: "The body is not UTF-8: see byte \(offset).")
    }

    static let notAnObject = ChatRequestError(
        problem: .wrongType, field: nil, message: "The body must be a JSON object.")

    static func tooMany(_ field: ChatRequestFieldName, limit: Int) -> ChatRequestError {
        ChatRequestError(
            problem: .tooMany, field: field.words, message: "\(field.words) has more than \(limit) elements.")
    }

    static func missing(_ field: ChatRequestFieldName) -> ChatRequestError {
        ChatRequestError(problem: .missing, field: field.words, message: "\(field.words) is missing.")
    }

    /// The error of a request that names no app.
    public static let missingAppID = ChatRequestError(
        problem: .missing, field: "appID",
        message: "appID is missing: this server has no keys (open mode), so a request names its app.")

    static func empty(_ field: ChatRequestFieldName) -> ChatRequestError {
        ChatRequestError(problem: .empty, field: field.words, message: "\(field.words) must not be empty.")
    }

    static func tooLong(_ field: ChatRequestFieldName, count: Int, limit: Int) -> ChatRequestError {
        ChatRequestError(
            problem: .tooLong, field: field.words,
            message: "\(field.words) has \(count) characters; at most \(limit) are allowed.")
    }

    static func tooManyBytes(_ field: ChatRequestFieldName, count: Int, limit: Int) -> ChatRequestError {
        ChatRequestError(
            problem: .tooLong, field: field.words,
            message: "\(field.words) has \(count) bytes; at most \(limit) are allowed.")
    }

    static func blank(_ field: ChatRequestFieldName) -> ChatRequestError {
        ChatRequestError(
            problem: .empty, field: field.words, message: "\(field.words) is blank: send what the user says.")
    }

    /// `member` is the API's spelling of the name.
    static func misspelled(_ member: String, in object: String) -> ChatRequestError {
        ChatRequestError(
            problem: .unknownMember, field: member,
            message:
                "\(object) has a member that differs from \"\(member)\" in upper and lower case only: write \"\(member)\"."
        )
    }

    static func memberNameTooLong(in object: String) -> ChatRequestError {
        ChatRequestError(
            problem: .tooLong, field: nil,
            message: "\(object) has a member whose name has more than \(MemberNames.maximumLength) bytes.")
    }

    static func reserved(_ member: String) -> ChatRequestError {
        ChatRequestError(
            problem: .unknownMember, field: member,
            message: "\(member) is a name that chatterd uses itself: leave it out.")
    }

    static func unknownValue(_ field: ChatRequestFieldName, wanted: String) -> ChatRequestError {
        ChatRequestError(problem: .unknownValue, field: field.words, message: "\(field.words) must be \(wanted).")
    }

    static func wrongType(
        _ field: ChatRequestFieldName, wanted: String, found: JSONKind, isElement: Bool = false
    ) -> ChatRequestError {
        ChatRequestError(
            problem: .wrongType, field: field.words,
            message: "\(field.words) must be \(wanted), \(isElement ? "without" : "not") \(found.noun).")
    }

    // MARK: - Values at a path that is made from the request

    static func missing(path: String) -> ChatRequestError {
        ChatRequestError(problem: .missing, field: path, message: "\(path) is missing.")
    }

    static func unknownValue(path: String, wanted: String) -> ChatRequestError {
        ChatRequestError(problem: .unknownValue, field: path, message: "\(path) must be \(wanted).")
    }

    static func wrongType(path: String, wanted: String, found: JSONKind) -> ChatRequestError {
        ChatRequestError(
            problem: .wrongType, field: path, message: "\(path) must be \(wanted), not \(found.noun).")
    }
}

extension JSONKind {
    fileprivate var noun: String {
        switch self {
        case .object: "an object"
        case .array: "an array"
        case .string: "a string"
        case .number: "a number"
        case .boolean: "a boolean"
        case .null: "null"
        }
    }
}
