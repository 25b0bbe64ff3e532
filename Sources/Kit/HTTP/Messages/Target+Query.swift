import ChatterdBasics

extension Target {
    /// The items of the query in order, decoded as forms are: `+` is a space, a bad escape stays as it is.
    public var queryItems: [(name: String, value: String)] {
        guard let query else { return [] }
        return query.utf8.split(separator: UInt8(ascii: "&")).map { item in
            let name = item.prefix { $0 != UInt8(ascii: "=") }
            return (Target.decodeForm(name), Target.decodeForm(item.dropFirst(name.count + 1)))
        }
    }

    /// The value of the first query item with a name; `nil` if there is none.
    public func queryItem(_ name: String) -> String? {
        queryItems.first { $0.name == name }?.value
    }

    /// A segment of the path with all its escapes decoded, an encoded slash too; the first one has number 1.
    public func segment(_ number: Int) -> String? {
        let segments = rawPath.utf8.split(
            separator: UInt8(ascii: "/"), maxSplits: number + 1, omittingEmptySubsequences: false)
        guard segments.indices.contains(number) else { return nil }
        return Target.decode(segments[number], plus: UInt8(ascii: "+"))
    }

    /// The segments of the path from a number on, with the slashes between them and all their escapes decoded; without a slash at the end.
    public func segments(from number: Int) -> String? {
        let segments = rawPath.utf8.split(
            separator: UInt8(ascii: "/"), maxSplits: number, omittingEmptySubsequences: false)
        guard var rest = segments.indices.contains(number) ? segments[number] : nil else { return nil }
        if rest.last == UInt8(ascii: "/") { rest.removeLast() }
        return Target.decode(rest, plus: UInt8(ascii: "+"))
    }

    private static func decodeForm(_ text: Substring.UTF8View) -> String {
        decode(text, plus: Grammar.space)
    }

    private static func decode(_ text: Substring.UTF8View, plus: UInt8) -> String {
        var decoded: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "+") {
                decoded.append(plus)
            } else if byte == UInt8(ascii: "%"), let first = rest.first, let second = rest.dropFirst().first,
                let high = first.hexDigitValue, let low = second.hexDigitValue
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
