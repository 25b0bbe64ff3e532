/// The types that parameters can have.
public enum ParameterType: Sendable {
    /// `boolean`.
    case boolean
    /// `bigint`.
    case int8
    /// `double precision`.
    case double
    /// `text`.
    case text
    /// `bytea`.
    case bytes
    /// `uuid`.
    case uuid
    /// `timestamptz`.
    case timestamp
    /// `bigint[]`.
    case int8Array
    /// `text[]`.
    case textArray
    /// `uuid[]`.
    case uuidArray

    /// The number of the type at the server; fixed for built-in types.
    var oid: UInt32 {
        switch self {
        case .boolean: 16
        case .bytes: 17
        case .int8: 20
        case .text: 25
        case .double: 701
        case .int8Array: 1016
        case .textArray: 1009
        case .timestamp: 1184
        case .uuid: 2950
        case .uuidArray: 2951
        }
    }
}

/// A value for `$1`, `$2` …, sent in binary: no quoting, no terminator, exact.
public enum Parameter: Sendable {
    /// SQL's NULL, of any type.
    case null
    /// For `boolean`.
    case boolean(Bool)
    /// For `int8`.
    case int8(Int64)
    /// For `double`.
    case double(Double)
    /// For `text`; the server refuses NUL with `invalidEncoding`.
    case text(String)
    /// For `text`, as UTF-8 that need not become a string before; the server checks it.
    case utf8([UInt8])
    /// For `bytes` (bytea).
    case bytes([UInt8])
    /// For `uuid`, as its two halves.
    case uuid(high: UInt64, low: UInt64)
    /// For `timestamp` (timestamptz), in microseconds since 1970.
    case timestamp(microseconds: Int64)
    /// For `int8Array`.
    case int8Array([Int64])
    /// For `textArray`.
    case textArray([String])
    /// For `textArray`, as UTF-8.
    case utf8Array([[UInt8]])
    /// For `uuidArray`.
    case uuidArray([(high: UInt64, low: UInt64)])

    /// An integer.
    public static func int8(_ value: Int) -> Parameter { .int8(Int64(value)) }
}

extension Parameter {
    /// Microseconds from 1970 to 2000, where PostgreSQL's clock begins.
    static let epochOffset: Int64 = 946_684_800_000_000

    /// Appends the value as the server's receive function of its type reads it; nothing for NULL.
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
        case .int8Array(let values):
            bytes.append(arrayOf: values, type: .int8) { bytes, value in bytes.append(bigEndian: value) }
        case .textArray(let values):
            bytes.append(arrayOf: values, type: .text) { bytes, value in bytes.append(contentsOf: value.utf8) }
        case .utf8Array(let values):
            bytes.append(arrayOf: values, type: .text) { bytes, value in bytes.append(contentsOf: value) }
        case .uuidArray(let values):
            bytes.append(arrayOf: values, type: .uuid) { bytes, value in
                bytes.append(bigEndian: value.high)
                bytes.append(bigEndian: value.low)
            }
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append<Value: FixedWidthInteger>(bigEndian value: Value) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }

    /// Appends an array without NULL, as `array_recv` reads it: dimensions, flags, type, length, lower bound, elements.
    fileprivate mutating func append<Value>(
        arrayOf values: [Value], type: ParameterType, _ encode: (inout [UInt8], Value) -> Void
    ) {
        append(bigEndian: Int32(values.isEmpty ? 0 : 1))
        append(bigEndian: Int32(0))
        append(bigEndian: type.oid)
        guard !values.isEmpty else { return }
        append(bigEndian: Int32(values.count))
        append(bigEndian: Int32(1))
        for value in values {
            let start = count
            append(bigEndian: Int32(0))
            encode(&self, value)
            let length = UInt32(truncatingIfNeeded: count - start - 4).bigEndian
            Swift.withUnsafeBytes(of: length) { source in
                for index in 0..<4 {
                    self[start + index] = source[index]
                }
            }
        }
    }
}
