import ChatterdBasics

/// Writes events, HTML Standard section 9.2.5: LF line ends, a blank line after each event.
public enum EventEncoder {
    /// Appends an event without an id: its name if any, then its data, split at each CR, LF and CR LF.
    public static func append(name: EventName? = nil, data: Span<UInt8>, to buffer: inout ByteBuffer) {
        if let name {
            buffer.append("event: ")
            buffer.append(utf8: name.text)
            buffer.append(Grammar.lineFeed)
        }
        var index = 0
        while let end = data.firstLineEnd(from: index) {
            appendLine(data, index..<end, to: &buffer)
            let isPair =
                data[end] == Grammar.carriageReturn && end + 1 < data.count && data[end + 1] == Grammar.lineFeed
            index = end + (isPair ? 2 : 1)
        }
        appendLine(data, index..<data.count, to: &buffer)
        buffer.append(Grammar.lineFeed)
    }

    /// Appends a comment, which readers ignore: one line with a colon. Line ends and NUL in it become spaces.
    public static func append(comment text: String, to buffer: inout ByteBuffer) {
        buffer.append(": ")
        for byte in text.utf8 {
            let isBreak = byte == Grammar.carriageReturn || byte == Grammar.lineFeed || byte == 0
            buffer.append(isBreak ? Grammar.space : byte)
        }
        buffer.append("\n\n")
    }

    /// Appends the time in milliseconds that readers wait before they connect again, as a field of the event that follows. Some libraries
    /// make an empty event of a separate field.
    public static func append(retry milliseconds: UInt, to buffer: inout ByteBuffer) {
        buffer.append("retry: ")
        buffer.append(decimal: milliseconds)
        buffer.append("\n")
    }

    /// The maximum number of bytes of an event that `append(id:line:to:)` appends, without its data.
    public static let lineOverhead = 33

    /// Appends an event with one line of data, which must not contain CR or LF. Every token takes this path.
    public static func append(id: Int, line data: Span<UInt8>, to output: inout OutputSpan<UInt8>) {
        output.append("id: ")
        output.append(decimal: id)
        output.append("\ndata: ")
        output.append(copying: data)
        output.append("\n\n")
    }

    /// Appends an event whose id `id` appends: bytes without CR, LF and NUL.
    public static func append(
        name: EventName? = nil, data: Span<UInt8>, to buffer: inout ByteBuffer, id: (inout ByteBuffer) -> Void
    ) {
        buffer.append("id: ")
        id(&buffer)
        buffer.append(Grammar.lineFeed)
        append(name: name, data: data, to: &buffer)
    }

    private static func appendLine(_ data: Span<UInt8>, _ range: Range<Int>, to buffer: inout ByteBuffer) {
        buffer.append("data: ")
        buffer.append(data.extracting(range))
        buffer.append(Grammar.lineFeed)
    }
}
