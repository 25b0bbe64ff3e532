/// Cuts a file into parts for an import. As soon as there are `size` bytes, the whole lines among them are a part.
struct FileParts {
    /// The size in bytes, below the server's default for `CHATTERD_BODY_LIMIT`.
    static let size = 4 << 20

    private var bytes: [UInt8] = []
    /// The end of the last whole line in `bytes`. Each piece is searched once, because a line may have many of them.
    private var lineEnd = 0

    /// Adds a piece of the file. Returns the next part, if the file has come so far.
    mutating func append(_ piece: [UInt8]) -> [UInt8]? {
        if let index = piece.lastIndex(of: UInt8(ascii: "\n")) {
            lineEnd = bytes.count + index + 1
        }
        bytes += piece
        guard bytes.count >= Self.size, lineEnd > 0 else { return nil }
        let part = Array(bytes[..<lineEnd])
        bytes.removeFirst(lineEnd)
        lineEnd = 0
        return part
    }

    /// The rest at the end of the file, which may be empty.
    mutating func finish() -> [UInt8] {
        defer { self = FileParts() }
        return bytes
    }
}
