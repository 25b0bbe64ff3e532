import ChatterdBasics

extension UpstreamDescription {
    /// The members of a request with this server's defaults where the request says nothing.
    ///
    /// Of `options` those are added that the request's own do not have; any other default counts as a whole. What the request
    /// says stays as it is, in its place; an `options` that is no object is left for the server to refuse.
    public func merged(into members: [RawMember]) -> [RawMember] {
        var merged = members
        for standard in defaults {
            guard let place = merged.firstIndex(where: { $0.key == standard.key }) else {
                merged.append(standard)
                continue
            }
            guard standard.key == "options", let own = Self.members(of: merged[place]),
                let additions = Self.members(of: standard)?.filter({ addition in
                    !own.contains { $0.key == addition.key }
                }), !additions.isEmpty
            else { continue }
            var value = ByteBuffer()
            value.append(UInt8(ascii: "{"))
            value.append(own + additions)
            value.append(UInt8(ascii: "}"))
            merged[place] = RawMember(key: standard.key, value: value.array)
        }
        return merged
    }

    /// The members of a value that is an object.
    private static func members(of member: RawMember) -> [RawMember]? {
        let span = member.value.span
        var reader = JSONReader(span)
        guard (try? reader.kind()) == .object, let range = try? reader.skipValue() else { return nil }
        return try? [RawMember](decodingMembers: Array(member.value[range].dropFirst().dropLast()))
    }
}
