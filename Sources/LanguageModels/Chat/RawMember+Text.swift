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
    /// Reads members from JSON text without braces, as they were written.
    public init(decodingMembers text: [UInt8]) throws(JSONError) {
        self = []
        guard !text.isEmpty else { return }
        let object = [UInt8(ascii: "{")] + text + [UInt8(ascii: "}")]
        let span = object.span
        var reader = JSONReader(span)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let name = String(decodingJSON: span.extracting(key.range))
            let range = try reader.skipValue()
            append(RawMember(key: name, value: [UInt8](object[range])))
        }
        try reader.finish()
    }
}

extension RawMember {
    /// The members of an object, as they were written; of two alike the last counts.
    public static func members(of object: [UInt8]) throws(JSONError) -> [RawMember] {
        let span = object.span
        var members: [RawMember] = []
        // An object of a client may have very many members.
        var places: [String: Int] = [:]
        var reader = JSONReader(span)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let name = String(decodingJSON: span.extracting(key.range))
            let member = RawMember(key: name, value: [UInt8](object[try reader.skipValue()]))
            if let place = places[name] {
                members[place] = member
            } else {
                places[name] = members.count
                members.append(member)
            }
        }
        return members
    }
}
