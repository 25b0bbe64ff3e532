/// An event stream decoded as the HTML Standard says in section 9.2.6: all at once, line by line.
enum EventReference {
    /// The events: `name|data|id` for each one.
    static func events(in stream: [UInt8]) -> [String] {
        var events: [String] = []
        var (name, data, pendingID, lastID) = ("", [UInt8](), "", "")
        var hasData = false
        for line in lines(of: stream.starts(with: [0xEF, 0xBB, 0xBF]) ? stream[3...] : stream[...]) {
            guard !line.isEmpty else {
                lastID = pendingID
                if hasData {
                    events.append(
                        "\(name.isEmpty ? "message" : name)|\(String(decoding: data, as: UTF8.self))|\(lastID)")
                }
                (name, data, hasData) = ("", [], false)
                continue
            }
            let field = line.prefix { $0 != UInt8(ascii: ":") }
            var value = line.dropFirst(field.count + 1)
            if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
            switch String(decoding: field, as: UTF8.self) {
            case "event": name = String(decoding: value, as: UTF8.self)
            case "data":
                data += hasData ? [0x0A] + value : Array(value)
                hasData = true
            case "id" where !value.contains(0): pendingID = String(decoding: value, as: UTF8.self)
            default: break
            }
        }
        return events
    }

    /// The lines that end: LF, CR LF or CR.
    private static func lines(of bytes: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        var lines: [ArraySlice<UInt8>] = []
        var start = bytes.startIndex
        var index = start
        while index < bytes.endIndex {
            defer { index += 1 }
            guard bytes[index] == 0x0A || bytes[index] == 0x0D else { continue }
            lines.append(bytes[start..<index])
            if bytes[index] == 0x0D, index + 1 < bytes.endIndex, bytes[index + 1] == 0x0A {
                index += 1
            }
            start = index + 1
        }
        return lines
    }
}
