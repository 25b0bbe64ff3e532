import CChatterdPostgres

/// The server's answer to one query. It owns libpq's memory, and reads fields in place. Rows and columns count from 0.
///
/// The class is `@unchecked Sendable` because libpq allows threads to read a result that does not change.
@usableFromInline final class QueryResult: @unchecked Sendable {
    private let handle: OpaquePointer
    /// The number of rows returned.
    @usableFromInline let rowCount: Int
    private let columnCount: Int

    /// Takes ownership of a result of libpq.
    init(_ handle: OpaquePointer) {
        self.handle = handle
        rowCount = Int(PQntuples(handle))
        columnCount = Int(PQnfields(handle))
    }

    deinit {
        PQclear(handle)
    }

    /// The memory that libpq uses for the rows, in bytes.
    var memorySize: Int { PQresultMemorySize(handle) }

    /// The number of rows inserted, updated, deleted or selected.
    var affectedRows: Int {
        guard let text = PQcmdTuples(handle) else { return 0 }
        return Int(String(cString: text)) ?? 0
    }

    /// Whether the field is NULL or does not exist.
    func isNull(_ row: Int, _ column: Int) -> Bool {
        !has(row, column) || PQgetisnull(handle, Int32(row), Int32(column)) == 1
    }

    /// The bytes of a field as the server sent them; none for NULL or a field that does not exist.
    @_lifetime(borrow self)
    func bytes(_ row: Int, _ column: Int) -> Span<UInt8> {
        // libpq gives every field of the result an address, NULL and empty ones included.
        let span = field(row, column).span
        return _overrideLifetime(span, borrowing: self)
    }

    /// A field as text; `nil` for NULL. Bytes that are not UTF-8 become U+FFFD.
    func string(_ row: Int, _ column: Int) -> String? {
        isNull(row, column) ? nil : String(decoding: field(row, column), as: UTF8.self)
    }

    /// A field of an integer type; `nil` for NULL and for other types.
    func int(_ row: Int, _ column: Int) -> Int? {
        let bytes = field(row, column)
        guard !bytes.isEmpty else { return nil }
        return PQfformat(handle, Int32(column)) == 1 ? Self.binaryInteger(bytes) : Self.decimalInteger(bytes)
    }

    /// A field of type boolean; `nil` for NULL.
    func bool(_ row: Int, _ column: Int) -> Bool? {
        guard !isNull(row, column), let first = field(row, column).first else { return nil }
        return first == UInt8(ascii: "t") || first == 1
    }

    /// A field of type uuid that the server sent in binary; `nil` for NULL.
    func uuid(_ row: Int, _ column: Int) -> (high: UInt64, low: UInt64)? {
        let bytes = UnsafeRawBufferPointer(field(row, column))
        guard bytes.count == 16 else { return nil }
        return (
            UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        )
    }

    /// Whether the field exists. libpq logs a message for each access to a field that does not.
    private func has(_ row: Int, _ column: Int) -> Bool {
        row >= 0 && row < rowCount && column >= 0 && column < columnCount
    }

    /// The number of bytes of a field; 0 for NULL or a field that does not exist.
    func byteCount(_ row: Int, _ column: Int) -> Int {
        has(row, column) ? Int(PQgetlength(handle, Int32(row), Int32(column))) : 0
    }

    private func field(_ row: Int, _ column: Int) -> UnsafeBufferPointer<UInt8> {
        let count = byteCount(row, column)
        guard count > 0, let start = PQgetvalue(handle, Int32(row), Int32(column)) else {
            return UnsafeBufferPointer(start: nil, count: 0)
        }
        return UnsafeBufferPointer(start: UnsafeRawPointer(start).assumingMemoryBound(to: UInt8.self), count: count)
    }

    /// An int2, int4 or int8 in network order.
    private static func binaryInteger(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        let raw = UnsafeRawBufferPointer(bytes)
        switch bytes.count {
        case 2: return Int(Int16(bigEndian: raw.loadUnaligned(as: Int16.self)))
        case 4: return Int(Int32(bigEndian: raw.loadUnaligned(as: Int32.self)))
        case 8: return Int(Int64(bigEndian: raw.loadUnaligned(as: Int64.self)))
        default: return nil
        }
    }

    private static func decimalInteger(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        var digits = bytes[...]
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative {
            digits.removeFirst()
        }
        guard !digits.isEmpty else { return nil }
        var value = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            let (tenfold, overflow) = value.multipliedReportingOverflow(by: 10)
            // The value is negative until the end, because the smallest integer has no positive counterpart.
            let (next, underflow) = tenfold.subtractingReportingOverflow(Int(digit - UInt8(ascii: "0")))
            guard !overflow, !underflow else { return nil }
            value = next
        }
        guard !isNegative else { return value }
        return value == .min ? nil : -value
    }
}
