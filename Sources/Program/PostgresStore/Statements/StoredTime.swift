/// The SQL of times as whole microseconds since 1970.
enum StoredTime {
    /// The microseconds of a time.
    static func microseconds(_ time: String) -> String { "(extract(epoch FROM \(time)) * 1000000)::bigint" }

    /// A time from its microseconds, exactly.
    static func time(_ microseconds: String) -> String {
        "'1970-01-01T00:00:00Z'::timestamptz + \(microseconds) * interval '1 microsecond'"
    }
}
