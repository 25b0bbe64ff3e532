/// The JSON of an answer, which arrives in pieces. Many models write it as a code block of Markdown: a line of three backticks and perhaps
/// a word, the JSON, and three backticks. The value is the same without them.
struct AnswerJSON: Sendable {
    private enum Part {
        case start
        /// The backticks so far, of a line that opens a block.
        case opening(Int)
        /// The rest of this line.
        case info
        case value(isFenced: Bool)
        /// After the value, the end of the block.
        case closing
    }

    private var part = Part.start
    private var parser = IncrementalJSON()

    /// The value so far.
    var value: StructuredContent? { parser.value }

    /// - Throws: a fault, then and from then on.
    mutating func receive(_ text: String) throws(JSONFault) {
        var rest = text.utf8[...]
        while let byte = rest.first {
            if case .value(isFenced: false) = part {
                try parser.receive(rest)
                return
            }
            try receive(byte)
            rest.removeFirst()
        }
    }

    /// The whole value.
    mutating func finish() throws(JSONFault) -> StructuredContent { try parser.finish() }

    private mutating func receive(_ byte: UInt8) throws(JSONFault) {
        let isBacktick = byte == UInt8(ascii: "`")
        switch part {
        case .start:
            if isBacktick {
                part = .opening(1)
            } else {
                part = byte.isWhiteSpace ? .start : .value(isFenced: false)
                try parser.receive(CollectionOfOne(byte))
            }
        case .opening(let count):
            if isBacktick {
                part = .opening(count + 1)
            } else if count < 3 {
                // A backtick begins no value.
                try parser.receive("`".utf8)
            } else {
                part = byte == UInt8(ascii: "\n") ? .value(isFenced: true) : .info
            }
        case .info:
            if byte == UInt8(ascii: "\n") { part = .value(isFenced: true) }
        case .value:
            if isBacktick, parser.isOver {
                part = .closing
            } else {
                try parser.receive(CollectionOfOne(byte))
            }
        case .closing:
            if !isBacktick { try parser.receive(CollectionOfOne(byte)) }
        }
    }
}

extension UInt8 {
    /// Whether the byte is white space of JSON (RFC 8259, section 2).
    fileprivate var isWhiteSpace: Bool {
        self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") || self == UInt8(ascii: "\n")
            || self == UInt8(ascii: "\r")
    }
}
