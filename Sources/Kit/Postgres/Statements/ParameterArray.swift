/// The elements of an array parameter, encoded when they are appended, so that a large array needs no value for each element.
///
/// All elements have one type, which `Parameter.array` names. The storage is reused.
public struct ParameterArray: Sendable {
    /// The capacity that the array keeps when it is emptied, in bytes.
    private static let keptCapacity = 256 * 1024

    /// The number of elements.
    private(set) var count = 0
    /// Each element with its length before it, in the format of `array_recv`.
    private(set) var bytes: [UInt8] = []

    /// Creates an empty array.
    public init() {}

    /// Creates an empty array with room for `count` elements of `size` bytes in all.
    public init(count: Int, size: Int) {
        bytes.reserveCapacity(4 * count + size)
    }

    /// Whether there are no elements.
    public var isEmpty: Bool { count == 0 }

    /// Appends an element of type `int4`.
    public mutating func append(_ value: Int32) {
        appendElement(of: 4) { $0.storeBytes(of: value.bigEndian, as: Int32.self) }
    }

    /// Appends an element of type `int8`.
    public mutating func append(_ value: Int64) {
        appendElement(of: 8) { $0.storeBytes(of: value.bigEndian, as: Int64.self) }
    }

    /// Appends an element of type `uuid`, as its two halves.
    public mutating func append(high: UInt64, low: UInt64) {
        appendElement(of: 16) {
            $0.storeBytes(of: high.bigEndian, as: UInt64.self)
            $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
    }

    /// Appends an element of type `text`. The server checks that it is UTF-8.
    public mutating func append(utf8 text: Span<UInt8>) {
        appendElement(of: text.count) { element in
            text.withUnsafeBytes { element.copyMemory(from: $0) }
        }
    }

    /// Appends an element of type `text`.
    public mutating func append(_ text: String) {
        append(utf8: text.utf8Span.span)
    }

    /// Appends a null.
    public mutating func appendNull() {
        count += 1
        bytes.append(addingCapacity: 4) { output in
            for _ in 0..<4 {
                output.append(0xFF)
            }
        }
    }

    /// Removes all elements.
    public mutating func removeAll() {
        count = 0
        bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptCapacity)
    }

    @inline(__always)
    private mutating func appendElement(of size: Int, _ encode: (UnsafeMutableRawBufferPointer) -> Void) {
        count += 1
        bytes.append(addingCapacity: 4 + size) { output in
            output.withUnsafeMutableBufferPointer { buffer, used in
                let element = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[used...])
                element.storeBytes(of: UInt32(truncatingIfNeeded: size).bigEndian, as: UInt32.self)
                encode(UnsafeMutableRawBufferPointer(rebasing: element[4...]))
                used += 4 + size
            }
        }
    }
}

extension Parameter {
    /// For `textArray`.
    public static func textArray(_ values: [String]) -> Parameter {
        var array = ParameterArray(count: values.count, size: values.reduce(0) { $0 + $1.utf8.count })
        for value in values {
            array.append(value)
        }
        return .array(of: .text, [array])
    }

    /// For `textArray`, as UTF-8.
    public static func utf8Array(_ values: [[UInt8]]) -> Parameter {
        var array = ParameterArray()
        for value in values {
            array.append(utf8: value.span)
        }
        return .array(of: .text, [array])
    }

    /// For `uuidArray`.
    public static func uuidArray(_ values: [(high: UInt64, low: UInt64)]) -> Parameter {
        var array = ParameterArray()
        for value in values {
            array.append(high: value.high, low: value.low)
        }
        return .array(of: .uuid, [array])
    }
}
