/// The arrays of a query's parameters that libpq expects. Their storage is reused for the next query.
struct ParameterBuffer {
    /// The capacity that the buffer keeps after a query, in bytes.
    private static let keptCapacity = 64 * 1024

    private var bytes: [UInt8] = []
    /// The size of the last encoded parameters, in bytes.
    private(set) var size = 0
    private var offsets: [Int] = []
    private var pointers: [UnsafePointer<CChar>?] = []
    private var lengths: [Int32] = []
    private var formats: [Int32] = []

    /// Encodes the parameters, and passes them to `body` as pointers, lengths and formats.
    mutating func withEncoded<Result>(
        _ parameters: [Parameter],
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> Result
    ) -> Result {
        defer { bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptCapacity) }
        offsets.removeAll(keepingCapacity: true)
        pointers.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        bytes.reserveCapacity(parameters.reduce(64) { $0 + $1.sizeHint })
        for parameter in parameters {
            offsets.append(bytes.count)
            parameter.encode(into: &bytes)
            lengths.append(Int32(bytes.count - offsets[offsets.count - 1]))
        }
        size = bytes.count
        // An empty value needs an address too; only NULL has none.
        bytes.append(0)
        while formats.count < parameters.count {
            formats.append(1)
        }
        return bytes.withUnsafeBytes { bytes in
            for (index, parameter) in parameters.enumerated() {
                if case .null = parameter {
                    pointers.append(nil)
                } else {
                    pointers.append(bytes.baseAddress?.advanced(by: offsets[index]).assumingMemoryBound(to: CChar.self))
                }
            }
            return pointers.withUnsafeBufferPointer { pointers in
                lengths.withUnsafeBufferPointer { lengths in
                    formats.withUnsafeBufferPointer { formats in
                        body(pointers.baseAddress, lengths.baseAddress, formats.baseAddress)
                    }
                }
            }
        }
    }
}
