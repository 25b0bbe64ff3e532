import ChatterdBasics

/// Generates the ids of requests, and validates those that clients send.
///
/// The ids only name lines of the log. The other ids of a shard can be computed from one of them, so no protection may depend on
/// their secrecy.
struct RequestID {
    /// Crockford's base 32, without ambiguous letters.
    private static let digits = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

    /// A shard repeats no id.
    private var numbers: SplitMix64

    init(seed: UInt64) {
        numbers = SplitMix64(seed: seed)
    }

    /// The next id: 13 characters, which a string stores without an allocation.
    mutating func next() -> String {
        var rest = numbers.next()
        return String(unsafeUninitializedCapacity: 13) { text in
            for index in 0..<13 {
                text[index] = Self.digits[Int(truncatingIfNeeded: rest & 31)]
                rest >>= 5
            }
            return 13
        }
    }

    /// Whether an id that a client sent may stand in a log and in a field: up to 64 letters, digits and `-_.:/+=`.
    static func isSane(_ id: String) -> Bool {
        !id.isEmpty && id.utf8.count <= 64
            && id.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: ":"):
                    true
                case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "/"), UInt8(ascii: "+"),
                    UInt8(ascii: "="):
                    true
                default:
                    false
                }
            }
    }
}
