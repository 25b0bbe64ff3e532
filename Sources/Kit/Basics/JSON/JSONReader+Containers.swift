extension JSONReader {
    /// Enters an object.
    public mutating func beginObject() throws(JSONError) {
        try enter(UInt8(ascii: "{"))
    }

    /// Enters an array.
    public mutating func beginArray() throws(JSONError) {
        try enter(UInt8(ascii: "["))
    }

    /// Reads the name of the next member of the object, so that its value is next.
    ///
    /// Returns `nil` after the last member, and leaves the object.
    public mutating func nextKey() throws(JSONError) -> JSONString? {
        guard try advance(from: UInt8(ascii: "{"), to: UInt8(ascii: "}")) else { return nil }
        return try memberName()
    }

    /// Reads the name of the next member of a text that is a list of members without braces, so that its value is next.
    ///
    /// Returns `nil` at the end of the text.
    public mutating func nextMember() throws(JSONError) -> JSONString? {
        let isFirst = position == 0
        skipWhitespace()
        guard position < bytes.count else { return nil }
        if !isFirst {
            guard bytes[position] == UInt8(ascii: ",") else { throw JSONError(.unexpectedByte, at: position) }
            position += 1
        }
        return try memberName()
    }

    /// Whether the array has another element, which is then next. Leaves the array otherwise.
    public mutating func nextElement() throws(JSONError) -> Bool {
        try advance(from: UInt8(ascii: "["), to: UInt8(ascii: "]"))
    }

    /// Skips a value, and returns its range.
    @discardableResult
    public mutating func skipValue() throws(JSONError) -> Range<Int> {
        let first = try peek()
        let start = position
        switch first {
        case UInt8(ascii: "\""): _ = try stringHere()
        case UInt8(ascii: "{"), UInt8(ascii: "["): try skipContainer()
        default: try skipScalar(first)
        }
        return start..<position
    }

    /// Skips a value of any type. Returns the range of an array with at least one element; `nil` for any other value.
    public mutating func arrayOrSkip() throws(JSONError) -> Range<Int>? {
        let isArray = try kind() == .array
        let value = try skipValue()
        guard isArray else { return nil }
        let inside = (value.lowerBound + 1)..<(value.upperBound - 1)
        return inside.contains { bytes[$0] > 0x20 } ? value : nil
    }

    private mutating func enter(_ bracket: UInt8) throws(JSONError) {
        guard try peek() == bracket else { throw JSONError(.wrongType, at: position) }
        guard depth < Self.maximumDepth else { throw JSONError(.tooDeep, at: position) }
        depth += 1
        position += 1
    }

    @inline(__always)
    private mutating func advance(from opening: UInt8, to closing: UInt8) throws(JSONError) -> Bool {
        // No value ends in an opening bracket, so the preceding byte shows whether this element is the first.
        let isFirst = bytes[position - 1] == opening
        let byte = try peek()
        if byte == closing {
            position += 1
            depth -= 1
            return false
        }
        if !isFirst {
            guard byte == UInt8(ascii: ",") else { throw JSONError(.unexpectedByte, at: position) }
            position += 1
        }
        return true
    }

    /// Reads `"name" :`.
    @inline(__always)
    private mutating func memberName() throws(JSONError) -> JSONString {
        guard try peek() == UInt8(ascii: "\"") else { throw JSONError(.unexpectedByte, at: position) }
        let name = try stringHere()
        guard try peek() == UInt8(ascii: ":") else { throw JSONError(.unexpectedByte, at: position) }
        position += 1
        return name
    }

    /// Skips a container without recursion. One bit for each level records its type.
    private mutating func skipContainer() throws(JSONError) {
        var objects: UInt64 = 0
        var open = 0
        while true {
            let first = try peek()
            switch first {
            case UInt8(ascii: "\""):
                _ = try stringHere()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard depth + open < Self.maximumDepth else { throw JSONError(.tooDeep, at: position) }
                let isObject = first == UInt8(ascii: "{")
                position += 1
                let next = try peek()
                if next == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                    position += 1
                } else {
                    objects = objects << 1 | (isObject ? 1 : 0)
                    open += 1
                    if isObject { _ = try memberName() }
                    continue
                }
            default:
                try skipScalar(first)
            }
            while open > 0 {
                let inObject = objects & 1 == 1
                let byte = try peek()
                if byte == UInt8(ascii: ",") {
                    position += 1
                    if inObject { _ = try memberName() }
                    break
                }
                guard byte == (inObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                    throw JSONError(.unexpectedByte, at: position)
                }
                position += 1
                objects >>= 1
                open -= 1
            }
            if open == 0 { return }
        }
    }
}
