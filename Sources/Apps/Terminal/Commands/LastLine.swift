/// The beginning of the last line of a text that comes in pieces.
struct LastLine {
    /// The kept bytes of a line.
    private static let limit = 400

    private var line: [UInt8] = []
    private var isOver = false

    mutating func append(_ piece: [UInt8]) {
        for byte in piece {
            if isOver {
                line = []
                isOver = false
            }
            if byte == UInt8(ascii: "\n") {
                isOver = true
            } else if line.count < Self.limit {
                line.append(byte)
            }
        }
    }

    /// The line, without its line end.
    var text: String { String(decoding: line, as: UTF8.self) }
}
