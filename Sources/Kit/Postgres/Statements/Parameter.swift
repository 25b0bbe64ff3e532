/// A value for `$1`, `$2` …, sent in binary, without quoting or terminator.
public enum Parameter: Sendable {
    /// SQL's NULL, of any type.
    case null
    /// For `boolean`.
    case boolean(Bool)
    /// For `int8`.
    case int8(Int64)
    /// For `double`.
    case double(Double)
    /// For `text`. The server refuses NUL with `invalidEncoding`.
    case text(String)
    /// For `text`, as UTF-8. The server checks it.
    case utf8([UInt8])
    /// For `bytes` (bytea).
    case bytes([UInt8])
    /// For `uuid`, as its two halves.
    case uuid(high: UInt64, low: UInt64)
    /// For `timestamp` (timestamptz), in microseconds since 1970.
    case timestamp(microseconds: Int64)
    /// For an array of a type: the elements of all these arrays in order.
    case array(of: ParameterType, [ParameterArray])

    /// An integer.
    public static func int8(_ value: Int) -> Parameter { .int8(Int64(value)) }
}

extension Parameter {
    /// The microseconds from 1970 to 2000, where PostgreSQL's clock begins.
    static let epochOffset: Int64 = 946_684_800_000_000

    /// The approximate number of bytes that `encode` appends to an array; 0 for other values.
    var sizeHint: Int {
        switch self {
        case .array(_, let parts): parts.reduce(20) { $0 + $1.bytes.count }
        default: 0
        }
    }

    /// Appends the value in the format of the server's receive function for its type; no bytes for NULL.
    func encode(into bytes: inout [UInt8]) {
        switch self {
        case .null: break
        case .boolean(let value): bytes.append(value ? 1 : 0)
        case .int8(let value): bytes.append(bigEndian: value)
        case .double(let value): bytes.append(bigEndian: value.bitPattern)
        case .text(let value): bytes.append(contentsOf: value.utf8)
        case .utf8(let value), .bytes(let value): bytes.append(contentsOf: value)
        case .uuid(let high, let low):
            bytes.append(bigEndian: high)
            bytes.append(bigEndian: low)
        case .timestamp(let microseconds): bytes.append(bigEndian: microseconds - Self.epochOffset)
        case .array(let type, let parts):
            let count = parts.reduce(0) { $0 + $1.count }
            // The format of `array_recv`: dimensions, whether there are NULLs, type, length, lower bound, elements.
            bytes.append(bigEndian: Int32(count == 0 ? 0 : 1))
            bytes.append(bigEndian: Int32(0))
            bytes.append(bigEndian: type.oid)
            guard count > 0 else { return }
            bytes.append(bigEndian: Int32(count))
            bytes.append(bigEndian: Int32(1))
            for part in parts {
                bytes.append(contentsOf: part.bytes)
            }
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append<Value: FixedWidthInteger>(bigEndian value: Value) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }
}
