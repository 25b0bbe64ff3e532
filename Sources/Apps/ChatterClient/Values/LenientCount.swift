import ChatterdBasics

/// A count in a response. Anything that is no count (`PeerCount`) is treated as not given, and does not spoil the values beside it.
struct LenientCount: Sendable, Hashable, Decodable {
    let value: Int?

    init(from decoder: any Decoder) {
        value = PeerCount.checked(try? decoder.singleValueContainer().decode(Int.self))
    }
}
