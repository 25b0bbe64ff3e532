import ChatterdBasics

/// The place of a value in a JSON text (RFC 6901).
public struct JSONPointer: Sendable {
    private let names: [String]

    /// Reads a pointer such as `/current/temperature`.
    ///
    /// - Throws: what is wrong with it.
    public init(parsing text: String) throws(UsageError) {
        guard text.isEmpty || text.hasPrefix("/") else {
            throw UsageError("begins with a slash, as in /current/temperature")
        }
        names = text.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { name in
            String(name).replacing("~1", with: "/").replacing("~0", with: "~")
        }
    }

    /// The value at the place; `nil` if there is none.
    func value(in document: JSONSlice) -> JSONSlice? {
        var value = document
        for name in names {
            if let member = value.members(first: .max)?.last(where: { $0.name == name }) {
                value = member.value
            } else if let index = Int(name), index >= 0, let elements = value.elements(first: index &+ 1),
                index < elements.count
            {
                value = elements[index]
            } else {
                return nil
            }
        }
        return value
    }
}
