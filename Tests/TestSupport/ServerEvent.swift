/// One event of an SSE stream, with its bytes.
public struct ServerEvent: Equatable, Sendable {
    /// The value of `event:`; `nil` without one.
    public var name: String?
    /// The value of `id:`.
    public var id: String?
    /// The values of the `data:` lines, joined by LF.
    public var data: String?
    /// The texts of the comment lines.
    public var comments: [String] = []
    /// The bytes, with the blank line.
    public var bytes: [UInt8] = []

    /// Reads the lines of one event.
    init(bytes: [UInt8]) {
        self.bytes = bytes
        for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: { $0 == "\n" || $0 == "\r\n" }) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = String(line[colon...].dropFirst().drop { $0 == " " })
            switch line[..<colon] {
            case "": comments.append(value)
            case "event": name = value
            case "id": id = value
            case "data": data = data.map { $0 + "\n" + value } ?? value
            default: break
            }
        }
    }
}
