import ChatterdBasics

/// A JSON value for comparisons: the order of members, white space and the spelling of numbers and texts do not count.
indirect enum ComparedValue: Equatable {
    case null
    case boolean(Bool)
    case number(Double)
    /// A number that no double holds exactly, as it is spelt.
    case longNumber([UInt8])
    case string(String)
    case array([ComparedValue])
    /// Without members that are null.
    case object([String: ComparedValue])

    init(_ value: DoorValue) {
        switch value.kind {
        case .null: self = .null
        case .boolean: self = .boolean(value.boolean ?? false)
        case .number:
            let text = value.json
            let number = Double(String(decoding: text, as: UTF8.self))
            self = number.map { $0.magnitude < 0x1p53 ? .number($0) : .longNumber(text) } ?? .longNumber(text)
        case .string: self = .string(value.string ?? "")
        case .array: self = .array((value.elements(atMost: .max) ?? []).map(ComparedValue.init))
        case .object:
            var members: [String: ComparedValue] = [:]
            let found = value.members(atMost: .max)
            for name in found?.names ?? [] { members[name] = found?[name].map(ComparedValue.init) }
            self = .object(members)
        }
    }
}
