import ChatterdBasics

extension UpstreamDescription {
    /// The members of a request, with this server's defaults for the members that the request does not have.
    ///
    /// `options` are merged member by member; any other default applies as a whole. Members of the request are unchanged and keep
    /// their order. The server itself rejects `options` that are no object.
    public func merged(into members: [RawMember]) -> [RawMember] {
        var merged = members
        for standard in defaults {
            guard let index = merged.firstIndex(where: { $0.key == standard.key }) else {
                merged.append(standard)
                continue
            }
            guard standard.key == "options", let own = Self.members(of: merged[index]),
                let additions = Self.members(of: standard)?.filter({ addition in
                    !own.contains { $0.key == addition.key }
                }), !additions.isEmpty
            else { continue }
            var value = ByteBuffer()
            value.append(UInt8(ascii: "{"))
            value.append(own + additions)
            value.append(UInt8(ascii: "}"))
            merged[index] = RawMember(key: standard.key, value: value.array)
        }
        return merged
    }

    /// The members of a value; `nil` if it is not an object.
    private static func members(of member: RawMember) -> [RawMember]? {
        let span = member.value.span
        var reader = JSONReader(span)
        guard (try? reader.kind()) == .object, let range = try? reader.skipValue() else { return nil }
        return try? [RawMember](decodingMembers: Array(member.value[range].dropFirst().dropLast()))
    }
}
