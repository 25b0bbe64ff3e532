import ChatterdBasics

/// The ranges of the members of a request in its body. Of two equal names the last one counts.
struct RequestMembers {
    private var ranges: [String: Range<Int>] = [:]
    /// The members that are not known and not null, in order. Of more than a request may have, one more.
    private(set) var others: [(key: JSONString, value: Range<Int>)] = []
    /// The name of the first member that is not known.
    private var unknown: String?

    /// Finds the members of a body, whatever their names.
    ///
    /// - Throws: the first problem that is found.
    init(of body: Span<UInt8>, known: [String]) throws(ChatRequestError) {
        if let offset = UTF8Repair.firstInvalid(in: body) {
            throw .notUTF8(at: offset)
        }
        do throws(JSONError) {
            var reader = JSONReader(body)
            try reader.beginBody()
            while let key = try reader.nextKey() {
                // JSON writes one byte with six bytes at most.
                let isLong = key.range.count > 6 * MemberNames.maximumLength
                let name = isLong ? "" : String(decodingJSON: body.extracting(key.range))
                let range = try reader.skipValue()
                if known.contains(name) {
                    ranges[name] = range
                    continue
                }
                unknown = unknown ?? name
                if body[range.lowerBound] != UInt8(ascii: "n"), others.count <= ChatRequest.maximumPassThrough {
                    others.append((key, range))
                }
            }
            try reader.finish()
        } catch {
            throw error.code == .wrongType ? .notAnObject : .notJSON(error)
        }
    }

    /// Finds the members of a body that has known ones only.
    ///
    /// - Throws: the first problem that is found; for an unknown member, `unknownMember` with the known name that is nearest to it.
    init(of body: Span<UInt8>, only known: [String]) throws(ChatRequestError) {
        try self.init(of: body, known: known)
        if let unknown { throw .unknownMember(nearest: NearestNames.nearest(to: unknown, among: known), of: known) }
    }

    /// The range of a member; `nil` if it is absent.
    subscript(_ name: String) -> Range<Int>? { ranges[name] }

    /// The range of a member; `nil` if it is absent or null.
    func value(_ name: String, in body: Span<UInt8>) -> Range<Int>? {
        ranges[name].flatMap { body[$0.lowerBound] == UInt8(ascii: "n") ? nil : $0 }
    }
}

extension ChatRequestError {
    /// The body has a member that is none of the `known` ones.
    fileprivate static func unknownMember(nearest: String?, of known: [String]) -> ChatRequestError {
        let meant = nearest.map { " Did you mean \($0)?" } ?? ""
        return ChatRequestError(
            problem: .unknownMember, field: nil,
            message: "The body may have \(known.joined(separator: ", ")) only.\(meant)")
    }
}
