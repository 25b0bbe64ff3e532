import ChatterdBasics

extension ByteBuffer {
    /// Appends the object of a line, and adds the members that clients of the first generation need and the line lacks.
    ///
    /// `line` has the fields of `bytes`; it must not need repair. The time is in nanoseconds since 1970.
    public mutating func append(
        completing line: AnswerLine, in bytes: Span<UInt8>, model: String, createdAt nanoseconds: Int64
    ) {
        var copied = line.object.lowerBound
        if let message = line.message, !line.missing.isDisjoint(with: [.role, .content]) {
            append(bytes.extracting(copied..<message.upperBound - 1))
            copied = message.upperBound - 1
            var needsComma = bytes.hasMembers(before: copied)
            if line.missing.contains(.role) {
                append(member: "\"role\":\"assistant\"", after: &needsComma)
            }
            if line.missing.contains(.content) {
                append(member: "\"content\":\"\"", after: &needsComma)
            }
        }
        append(bytes.extracting(copied..<line.object.upperBound - 1))
        var needsComma = bytes.hasMembers(before: line.object.upperBound - 1)
        if line.missing.contains(.model) {
            append(member: "\"model\":", after: &needsComma)
            append(jsonString: model)
        }
        if line.missing.contains(.createdAt) {
            append(member: "\"created_at\":\"", after: &needsComma)
            append(rfc3339: nanoseconds)
            append(UInt8(ascii: "\""))
        }
        if line.missing.contains(.message) {
            append(member: "\"message\":{\"role\":\"assistant\",\"content\":\"\"}", after: &needsComma)
        }
        append(UInt8(ascii: "}"))
    }

    private mutating func append(member: StaticString, after needsComma: inout Bool) {
        if needsComma {
            append(UInt8(ascii: ","))
        }
        needsComma = true
        append(member)
    }
}

extension Span<UInt8> {
    /// Whether an object with its closing brace at `end` has members.
    fileprivate func hasMembers(before end: Int) -> Bool {
        var index = end - 1
        while self[index] <= 0x20 { index -= 1 }
        return self[index] != UInt8(ascii: "{")
    }
}
