/// Generates the ids of requests, and validates those that clients send.
///
/// The ids only name lines of the log. The other ids of a shard can be computed from one of them, so no protection may depend on
/// their secrecy.
struct RequestID {
    /// Crockford's base 32, without ambiguous letters.
    private static let digits = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// The next id: 13 characters, which a string stores without an allocation.
    mutating func next() -> String {
        // SplitMix64 has a full period, so that a shard repeats no id.
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        mixed ^= mixed >> 31
        return String(unsafeUninitializedCapacity: 13) { text in
            for index in 0..<13 {
                text[index] = Self.digits[Int(truncatingIfNeeded: mixed & 31)]
                mixed >>= 5
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
