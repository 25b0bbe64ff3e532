import ChatterdBasics

extension ByteBuffer {
    /// Appends members as JSON text, with commas between them and without braces.
    public mutating func append(_ members: [RawMember]) {
        for (index, member) in members.enumerated() {
            if index > 0 {
                append(UInt8(ascii: ","))
            }
            append(jsonString: member.key)
            append(UInt8(ascii: ":"))
            append(member.value)
        }
    }
}

extension [RawMember] {
    /// Reads members from JSON text without braces; their values are unchanged.
    ///
    /// - Throws: the error of the JSON.
    public init(decodingMembers text: [UInt8]) throws(JSONError) {
        self = []
        let span = text.span
        var reader = JSONReader(span)
        while let key = try reader.nextMember() {
            let name = String(decodingJSON: span.extracting(key.range))
            append(RawMember(key: name, value: [UInt8](text[try reader.skipValue()])))
        }
    }
}

extension RawMember {
    /// The members of an object, with their values unchanged; of two equal names the last one counts.
    ///
    /// - Throws: the error of the JSON.
    public static func members(of object: [UInt8]) throws(JSONError) -> [RawMember] {
        let span = object.span
        var members: [RawMember] = []
        // A client may send an object with very many members, so names are searched in a dictionary.
        var indices: [ExactText: Int] = [:]
        var reader = JSONReader(span)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let name = String(decodingJSON: span.extracting(key.range))
            let member = RawMember(key: name, value: [UInt8](object[try reader.skipValue()]))
            if let index = indices[name] {
                members[index] = member
            } else {
                indices[name] = members.count
                members.append(member)
            }
        }
        return members
    }
}
