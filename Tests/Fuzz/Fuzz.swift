import Glibc

/// The target that `CHATTERD_FUZZ_TARGET` names.
private let target: FuzzTarget = {
    guard let name = getenv("CHATTERD_FUZZ_TARGET"), let target = FuzzTarget(rawValue: String(cString: name)) else {
        fatalError("CHATTERD_FUZZ_TARGET is one of \(FuzzTarget.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return target
}()

/// Called by libFuzzer with each input. The sizes of the pieces follow from the input, so that a failure can be repeated.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let whole = target.read(bytes, piecesUpTo: [count])
    var seed = bytes.reduce(UInt64(count)) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    var ends: [Int] = []
    var end = 0
    while end < count {
        seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        end = min(count, end + 1 + Int(seed >> 60))
        ends.append(end)
    }
    let pieces = target.read(bytes, piecesUpTo: ends.isEmpty ? [0] : ends)
    precondition(pieces == whole, "in pieces up to \(ends): \(pieces)\nas a whole: \(whole)")
    return 0
}
