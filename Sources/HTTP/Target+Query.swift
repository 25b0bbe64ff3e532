extension Target {
    /// The items of the query in order, decoded as forms are: `+` is a space, a bad escape stays as it is.
    public var queryItems: [(name: String, value: String)] {
        guard let query else { return [] }
        return query.utf8.split(separator: UInt8(ascii: "&")).map { item in
            let name = item.prefix { $0 != UInt8(ascii: "=") }
            return (Target.decodeForm(name), Target.decodeForm(item.dropFirst(name.count + 1)))
        }
    }

    /// The value of the first query item with a name; nil when there is none.
    public func queryItem(_ name: String) -> String? {
        queryItems.first { $0.name == name }?.value
    }

    private static func decodeForm(_ text: Substring.UTF8View) -> String {
        var decoded: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "+") {
                decoded.append(Grammar.space)
            } else if byte == UInt8(ascii: "%"), let first = rest.first, let second = rest.dropFirst().first,
                let high = Grammar.hexValue(first), let low = Grammar.hexValue(second)
            {
                decoded.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                decoded.append(byte)
            }
        }
        return String(decoding: decoded, as: UTF8.self)
    }
}
