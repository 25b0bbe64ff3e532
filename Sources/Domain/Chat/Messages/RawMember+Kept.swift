import ChatterdBasics

extension RawMember {
    /// The name of the member in which a front door keeps what it needs of a request, as an object: `instructions`, and what an answer
    /// repeats. It is stored with the members for the model server. No model server gets it, and no client can send it.
    public static let keptName = "chatterd"

    /// Creates the member; `object` is a JSON object.
    public init(kept object: [UInt8]) {
        self.init(key: Self.keptName, value: object)
    }
}

extension [RawMember] {
    /// The object that a front door keeps with the request, as JSON; `nil` if it keeps none.
    public var kept: [UInt8]? {
        // A row that was changed by hand may have another value.
        last { $0.key == RawMember.keptName }.flatMap { $0.value.first == UInt8(ascii: "{") ? $0.value : nil }
    }

    /// The members without those that a front door keeps.
    public var withoutKept: [RawMember] { filter { $0.key != RawMember.keptName } }

    /// The message of the system that precedes the whole history for this one request, and that no history has; `nil` for none.
    public var instructions: String? {
        guard let kept else { return nil }
        var text: String?
        JSONMembers.forEach(of: kept.span) { reader, key, value in
            guard reader.matches(key, "instructions"), kept[value.lowerBound] == UInt8(ascii: "\"") else { return }
            text = String(decodingJSON: kept.span.extracting((value.lowerBound + 1)..<(value.upperBound - 1)))
        }
        return text
    }
}
