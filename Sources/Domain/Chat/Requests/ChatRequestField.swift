import ChatterdBasics

/// A value in the body of a request, with its name for error messages.
struct ChatRequestField: ~Escapable {
    let name: ChatRequestFieldName
    private let text: Span<UInt8>

    /// Creates a field of a value that fills `text` and has been parsed before.
    @_lifetime(copy text)
    init(_ name: ChatRequestFieldName, _ text: Span<UInt8>) {
        self.name = name
        self.text = text
    }

    /// Whether its strings have `\u0000` or halves of surrogate pairs.
    var hasUnstorableEscapes: Bool {
        var reader = JSONReader(text)
        return (try? reader.skipValue()) != nil && reader.hasUnstorableEscapes
    }

    /// The JSON text, with U+FFFD instead of characters that cannot be stored.
    var json: [UInt8] {
        var buffer = ByteBuffer(capacity: text.count)
        if hasUnstorableEscapes {
            buffer.append(repairingJSON: text)
        } else {
            buffer.append(text)
        }
        return buffer.array
    }

    /// Throws `wrongType` if the value has another type.
    func require(_ kind: JSONKind, _ noun: String) throws(ChatRequestError) {
        let found = try self.kind()
        guard found == kind else { throw .wrongType(name, wanted: noun, found: found) }
    }

    /// The type of the value.
    func kind() throws(ChatRequestError) -> JSONKind {
        do {
            var reader = JSONReader(text)
            return try reader.kind()
        } catch {
            throw .notJSON(error)
        }
    }

    /// The value of a number; `nil` unless it is a whole number that fits.
    func integer() throws(ChatRequestError) -> Int? {
        do {
            var reader = JSONReader(text)
            return try reader.integer()
        } catch {
            throw .notJSON(error)
        }
    }

    /// The value as a boolean.
    func boolean() throws(ChatRequestError) -> Bool {
        try require(.boolean, "true or false")
        return text[0] == UInt8(ascii: "t")
    }

    /// The value as text of any length.
    func string() throws(ChatRequestError) -> String {
        try require(.string, "a string")
        return String(decodingJSON: text.extracting(1..<text.count - 1))
    }

    /// The value as a word of a closed set (`String.init(nameInJSON:)`).
    func word() throws(ChatRequestError) -> String {
        try require(.string, "a string")
        return String(nameInJSON: text.extracting(1..<text.count - 1))
    }

    /// The value as text of 1 to `limit` Unicode scalars.
    func string(upTo limit: Int) throws(ChatRequestError) -> String {
        let string = try string()
        if string.isEmpty { throw .empty(name) }
        let count = string.unicodeScalars.count
        guard count <= limit else { throw .tooLong(name, count: count, limit: limit) }
        return string
    }

    /// The value as a name: text of 1 to `limit` bytes of UTF-8, without control characters.
    func name(upTo limit: Int) throws(ChatRequestError) -> String {
        let string = try string()
        if string.isEmpty { throw .empty(name) }
        guard string.utf8.count <= limit else { throw .tooManyBytes(name, count: string.utf8.count, limit: limit) }
        try requireNoControls(in: string)
        return string
    }

    /// Throws if the value, `string` when decoded, holds control characters or characters that cannot be stored. Names that differ
    /// only in these would become equal.
    func requireNoControls(in string: String) throws(ChatRequestError) {
        guard !string.hasControlCharacters, !hasUnstorableEscapes else {
            throw ChatRequestError(
                problem: .forbiddenCharacter, field: name.words,
                message: "\(name.words) must not contain control characters.")
        }
    }

    /// Throws `wrongType` unless the value is an array with elements of one type.
    func requireArray(
        of kind: JSONKind, _ noun: String, atMost limit: Int = .max
    ) throws(ChatRequestError) {
        try require(.array, "an array")
        var found: JSONKind?
        var count = 0
        do {
            var reader = JSONReader(text)
            try reader.beginArray()
            while found == nil, count <= limit, try reader.nextElement() {
                count += 1
                let element = try reader.kind()
                if element != kind { found = element }
                try reader.skipValue()
            }
        } catch {
            throw .notJSON(error)
        }
        if let found { throw .wrongType(name, wanted: "an array of \(noun)", found: found, isElement: true) }
        guard count <= limit else { throw .tooMany(name, limit: limit) }
    }
}
