extension ByteBuffer {
    /// Appends text as a JSON string, quotes included.
    public mutating func append(jsonString text: String) {
        var text = text
        text.withUTF8 { append(jsonString: $0.span) }
    }

    /// Appends UTF-8 as a JSON string, quotes included.
    public mutating func append(jsonString text: Span<UInt8>) {
        if text.count <= Self.escapedAtOnce {
            append(upTo: 6 * text.count + 18) { output in
                output.append(UInt8(ascii: "\""))
                output.append(jsonEscaping: text)
                output.append(UInt8(ascii: "\""))
            }
        } else {
            append(UInt8(ascii: "\""))
            append(jsonEscaping: text)
            append(UInt8(ascii: "\""))
        }
    }

    /// The number of bytes that are escaped at once, because the capacity must allow the longest escapes.
    private static let escapedAtOnce = 1024

    /// Appends UTF-8 as the inside of a JSON string: quotes, backslashes and control characters are escaped.
    public mutating func append(jsonEscaping text: Span<UInt8>) {
        var start = 0
        while start < text.count {
            let piece = text.extracting(start..<min(start + Self.escapedAtOnce, text.count))
            append(upTo: 6 * piece.count + 16) { $0.append(jsonEscaping: piece) }
            start += piece.count
        }
    }

    /// Appends the text of the inside of a JSON string; NUL and halves of surrogate pairs become U+FFFD.
    ///
    /// The string must have passed a `JSONReader`; bytes that are not UTF-8 are copied as they are.
    public mutating func append(decodingJSON text: Span<UInt8>) {
        let plain = text.firstBackslash()
        append(text.extracting(0..<plain))
        if plain < text.count {
            let rest = text.extracting(plain..<text.count)
            append(upTo: rest.count / 2 * 3 + 16) { $0.append(decodingJSON: rest) }
        }
    }
}

extension String {
    /// The limit of a name in a JSON text, in bytes: `Set` and `Dictionary` take a time for it that is quadratic in its length.
    public static let maximumNameInJSON = 384

    /// Creates the text of the inside of a JSON string that is a name: of a member that is known, or a word of a closed set. A text beyond
    /// `maximumNameInJSON` becomes "…", which nothing is named. It is not for names that are kept: two long ones would become equal.
    public init(nameInJSON text: Span<UInt8>) {
        if text.count <= Self.maximumNameInJSON { self.init(decodingJSON: text) } else { self = "…" }
    }

    /// Creates the text of the inside of a JSON string; NUL, halves of surrogate pairs and bytes that are not UTF-8 become U+FFFD.
    public init(decodingJSON text: Span<UInt8>) {
        guard text.firstBackslash() < text.count else {
            self = text.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            return
        }
        self.init(unsafeUninitializedCapacity: text.count / 2 * 3 + 16) { buffer in
            var output = OutputSpan(buffer: buffer, initializedCount: 0)
            output.append(decodingJSON: text)
            return output.finalize(for: buffer)
        }
    }
}
