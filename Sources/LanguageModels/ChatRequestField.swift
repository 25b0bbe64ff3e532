import Bytes

/// A value in the body of a request, and what it is called in a sentence about it.
struct ChatRequestField: ~Escapable {
    private let name: String
    private let text: Span<UInt8>

    /// Names the value that is all of `text`, which has been read before.
    @_lifetime(copy text)
    init(_ name: String, _ text: Span<UInt8>) {
        self.name = name
        self.text = text
    }

    /// Whether strings in it hold `\u0000` or halves of surrogate pairs.
    var hasUnstorableEscapes: Bool {
        var reader = JSONReader(text)
        return (try? reader.skipValue()) != nil && reader.hasUnstorableEscapes
    }

    /// The JSON text, with U+FFFD in place of what cannot be stored.
    var json: [UInt8] {
        var buffer = ByteBuffer(capacity: text.count)
        if hasUnstorableEscapes {
            buffer.append(repairingJSON: text)
        } else {
            buffer.append(text)
        }
        return buffer.array
    }

    /// Refuses values of another type.
    func require(_ kind: JSONKind, _ noun: String) throws(ChatRequestError) {
        let found: JSONKind
        do {
            var reader = JSONReader(text)
            found = try reader.kind()
        } catch {
            throw .notJSON(error)
        }
        guard found == kind else { throw .wrongType(name, wanted: noun, found: found) }
    }

    /// The value as a boolean.
    func boolean() throws(ChatRequestError) -> Bool {
        try require(.boolean, "true or false")
        return text[0] == UInt8(ascii: "t")
    }

    /// The value as text, whatever its length.
    func string() throws(ChatRequestError) -> String {
        try require(.string, "a string")
        return String(decodingJSON: text.extracting(1..<text.count - 1))
    }

    /// The value as text of 1 to `limit` Unicode scalars.
    func string(upTo limit: Int) throws(ChatRequestError) -> String {
        let string = try string()
        if string.isEmpty { throw .empty(name) }
        let count = string.unicodeScalars.count
        guard count <= limit else { throw .tooLong(name, count: count, limit: limit) }
        return string
    }

    /// Refuses values that are not arrays of one type.
    func requireArray(of kind: JSONKind, _ noun: String) throws(ChatRequestError) {
        try require(.array, "an array")
        var found: JSONKind?
        do {
            var reader = JSONReader(text)
            try reader.beginArray()
            while found == nil, try reader.nextElement() {
                let element = try reader.kind()
                if element != kind { found = element }
                try reader.skipValue()
            }
        } catch {
            throw .notJSON(error)
        }
        if let found { throw .wrongType(name, wanted: "an array of \(noun)", found: found, isElement: true) }
    }
}
