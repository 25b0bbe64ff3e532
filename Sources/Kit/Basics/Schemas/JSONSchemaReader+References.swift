// References within a schema, and what depends on keywords that are left out.
extension JSONSchemaReader {
    /// The schema that a reference names by a JSON Pointer into the same text; `nil` for another reference.
    mutating func reference(_ value: Int) -> Int? {
        guard document.nodes[value].kind == .string, let node = target(of: document.string(of: value)) else {
            return nil
        }
        return schema(node)
    }

    private func target(of reference: ArraySlice<UInt8>) -> Int? {
        guard reference.first == UInt8(ascii: "#"), let pointer = Self.decoded(reference.dropFirst()) else {
            return nil
        }
        guard pointer.isEmpty || pointer.first == UInt8(ascii: "/") else { return nil }
        var node = document.root
        for part in pointer.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst() {
            guard let next = child(Self.unescaped(part), of: node) else { return nil }
            // A schema with an address of its own has its own pointers.
            if document.member("$id", of: next) != nil { return nil }
            node = next
        }
        return node
    }

    private func child(_ name: [UInt8], of node: Int) -> Int? {
        guard document.nodes[node].kind == .array else { return document.member(name[...], of: node) }
        let elements = document.members(of: node)
        guard let index = Int(String(decoding: name.prefix(8), as: UTF8.self)), elements.indices.count > index,
            index >= 0
        else { return nil }
        return Int(elements[elements.startIndex + index].value)
    }

    /// Decodes the escapes of a URI; `nil` for a bad one.
    private static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var index = text.startIndex
        while index < text.endIndex {
            guard text[index] == UInt8(ascii: "%") else {
                bytes.append(text[index])
                index += 1
                continue
            }
            guard index + 2 < text.endIndex, let high = text[index + 1].hexDigitValue,
                let low = text[index + 2].hexDigitValue
            else { return nil }
            bytes.append(UInt8(high << 4 | low))
            index += 3
        }
        return bytes
    }

    /// Decodes the escapes of a JSON Pointer (RFC 6901, section 4).
    private static func unescaped(_ part: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        for byte in part {
            if bytes.last == UInt8(ascii: "~"), byte == UInt8(ascii: "0") || byte == UInt8(ascii: "1") {
                bytes[bytes.count - 1] = byte == UInt8(ascii: "0") ? 0 : UInt8(ascii: "/")
            } else {
                bytes.append(byte)
            }
        }
        // A decoded tilde must not begin another escape, so it is a NUL until the end. No text has that byte.
        return bytes.map { $0 == 0 ? UInt8(ascii: "~") : $0 }
    }

    // MARK: - What is left out

    /// Leaves out the references to some schemas.
    mutating func leaveOutReferences(of numbers: [Int]? = nil, where isLeftOut: (_ target: Int) -> Bool) {
        for number in numbers ?? Array(schemas.indices) {
            let count = schemas[number].keywords.count
            schemas[number].keywords.removeAll {
                if case .reference(let target) = $0 { isLeftOut(target) } else { false }
            }
            if schemas[number].keywords.count < count { leaveOut("$ref", of: number) }
        }
    }

    /// Leaves out references by which a schema would apply to the same value without end.
    ///
    /// Kahn's algorithm removes the schemas that reach no circle, and then those that no circle reaches.
    mutating func leaveOutCircles() {
        let uses = schemas.map { $0.keywords.flatMap(\.sameValue) }
        var users: [[Int]] = Array(repeating: [], count: schemas.count)
        for (number, others) in uses.enumerated() {
            for other in others { users[other].append(number) }
        }
        var isLeft = Array(repeating: true, count: schemas.count)
        for (next, previous) in [(users, uses), (uses, users)] {
            var counts = schemas.indices.map { number in previous[number].count { isLeft[$0] } }
            var free = schemas.indices.filter { isLeft[$0] && counts[$0] == 0 }
            while let number = free.popLast() {
                isLeft[number] = false
                for other in next[number] where isLeft[other] {
                    counts[other] -= 1
                    if counts[other] == 0 { free.append(other) }
                }
            }
        }
        leaveOutReferences(of: schemas.indices.filter { isLeft[$0] }) { isLeft[$0] }
    }

    /// Marks the schemas that depend on a partial one.
    mutating func findPartialSchemas() {
        var users: [[Int]] = Array(repeating: [], count: schemas.count)
        for number in schemas.indices {
            for other in schemas[number].keywords.flatMap(\.parts) { users[other].append(number) }
        }
        var found = schemas.indices.filter { schemas[$0].isPartial }
        while let number = found.popLast() {
            for user in users[number] where !schemas[user].isPartial {
                schemas[user].isPartial = true
                found.append(user)
            }
        }
    }

    /// Leaves out keywords of a schema that would be violated because a part of them demands too little.
    mutating func weaken(_ number: Int) {
        let keywords = schemas[number].keywords
        schemas[number].keywords = []
        for keyword in keywords {
            switch keyword {
            case .not(let part) where schemas[part].isPartial: leaveOut("not", of: number)
            case .condition(let part, _, _) where schemas[part].isPartial: leaveOut("if", of: number)
            case .one(let parts) where parts.contains(where: { schemas[$0].isPartial }):
                schemas[number].keywords.append(.any(parts))
                leaveOut("oneOf", of: number)
            case .contains(let part, let least, let most) where most < .max && schemas[part].isPartial:
                schemas[number].keywords.append(.contains(part, least: least, most: .max))
                leaveOut("maxContains", of: number)
            default: schemas[number].keywords.append(keyword)
            }
        }
    }
}

extension JSONSchema.Keyword {
    /// The schemas that apply to the same value.
    fileprivate var sameValue: [Int] {
        switch self {
        case .reference(let part), .not(let part): [part]
        case .all(let parts), .any(let parts), .one(let parts): parts
        case .condition(let first, let then, let other): [first, then, other].compactMap(\.self)
        case .schemaWith(let schemas): schemas.map(\.schema)
        default: []
        }
    }

    /// All schemas of the keyword.
    fileprivate var parts: [Int] {
        switch self {
        case .elements(let prefix, let rest): prefix + [rest].compactMap(\.self)
        case .contains(let part, _, _), .names(let part): [part]
        case .members(let members):
            members.named.map(\.schema) + members.patterns.map(\.schema) + [members.rest].compactMap(\.self)
        default: sameValue
        }
    }
}
