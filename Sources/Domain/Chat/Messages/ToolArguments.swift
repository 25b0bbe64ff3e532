import ChatterdBasics

/// The arguments of a call of a tool.
public enum ToolArguments {
    /// The JSON text of an object with the arguments: of an object, of a text that holds one, and of nothing. Another text becomes the
    /// member `arguments` of an object: a model broke it off, or wrote no JSON. `nil` for a value of another type.
    public static func object(of value: JSONSlice?) -> [UInt8]? {
        guard let value, !value.isNull else { return none }
        if value.kind == .object { return value.json }
        guard let text = value.string else { return nil }
        return object(holding: Array(text.utf8))
    }

    /// The JSON text of an object with the arguments that a text in UTF-8 holds, as `object(of:)` makes it.
    public static func object(holding text: [UInt8]) -> [UInt8] {
        if text.allSatisfy({ $0 <= 0x20 }) { return none }
        let held = try? JSONSlice(text)
        if let held, held.kind == .object { return held.json }
        if let held, held.isNull { return none }
        var object = ByteBuffer()
        object.appendJSON { json in
            json.object { json in
                json.name("\(brokenName)")
                json.string(text.span)
            }
        }
        return object.array
    }

    /// Whether a text ends inside a value of JSON, so that a model server may have lost the rest.
    public static func breakOff(_ text: Span<UInt8>) -> Bool {
        guard text.hasText else { return false }
        do throws(JSONError) {
            try JSONReader.validate(text)
            return false
        } catch {
            return error.code == .unexpectedEnd
        }
    }

    /// Whether the arguments are a text that is no JSON object, as `object(of:)` makes them of one.
    ///
    /// - Parameter object: the arguments: a JSON object.
    /// - Parameter schema: that of the arguments. A tool may have an argument of this name.
    public static func areBroken(_ object: JSONSlice, schema: @autoclosure () -> JSONSlice?) -> Bool {
        guard let members = object.members(first: 2), members.count == 1, members[0].name == "\(brokenName)",
            members[0].value.kind == .string
        else { return false }
        return schema()?.last("properties", .object)?.last(brokenName, .object) == nil
    }

    private static var brokenName: StaticString { "arguments" }

    private static let none = Array("{}".utf8)
}
