import ChatterdBasics

/// The arguments of a call of a tool.
public enum ToolArguments {
    /// The JSON text of an object with the arguments: of an object, of a text that holds one, and of nothing. Another text becomes the
    /// member `arguments` of an object: a model broke it off. `nil` for a value of another type.
    public static func object(of value: JSONSlice?) -> [UInt8]? {
        guard let value, !value.isNull else { return none }
        if value.kind == .object { return value.json }
        guard let text = value.string else { return nil }
        if text.utf8.allSatisfy({ $0 <= 0x20 }) { return none }
        let held = try? JSONSlice(Array(text.utf8))
        if let held, held.kind == .object { return held.json }
        if let held, held.isNull { return none }
        var object = ByteBuffer()
        object.appendJSON { json in
            json.object { json in
                json.name("arguments")
                json.raw { $0.append(value.json) }
            }
        }
        return object.array
    }

    private static let none = Array("{}".utf8)
}
