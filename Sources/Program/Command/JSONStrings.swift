import ChatterdBasics

/// Reads strings from small JSON documents.
enum JSONStrings {
    /// The string member of an object; `nil` if the text is not an object with such a member.
    static func member(_ name: StaticString, of text: [UInt8]) -> String? {
        value(text)?.last(name, .string)?.string
    }

    /// The string members of the objects of a list, which is a member itself; `nil` if the text contains no such list.
    static func members(_ name: StaticString, inListOf list: StaticString, of text: [UInt8]) -> [String]? {
        guard let elements = value(text)?.last(list, .array)?.elements(first: .max),
            elements.allSatisfy({ $0.kind == .object })
        else { return nil }
        return elements.compactMap { $0.last(name, .string)?.string }
    }

    private static func value(_ text: [UInt8]) -> JSONSlice? {
        var reader = JSONReader(text.span)
        return try? JSONSlice(copying: &reader)
    }
}
