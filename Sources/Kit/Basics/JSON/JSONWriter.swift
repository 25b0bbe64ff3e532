/// Writes one JSON value to the end of a `ByteBuffer`, and puts the commas between elements and members.
///
///     var buffer = ByteBuffer()
///     buffer.appendJSON { writer in
///         writer.object { object in
///             object.member("name", "first")
///             object.array("ports") { $0.number(8080) }
///         }
///     }
///
/// It is for documents, lists and error bodies. Code that runs for each token appends prepared bytes instead.
public struct JSONWriter {
    fileprivate var buffer: ByteBuffer
    /// Whether a value precedes in the same array or object.
    private var needsComma = false

    fileprivate init(_ buffer: consuming ByteBuffer) {
        self.buffer = buffer
    }

    // MARK: - Values

    /// Writes an object; `body` writes its members.
    public mutating func object<Failure: Error>(
        _ body: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        begin("{")
        try body(&self)
        end("}")
    }

    /// Writes an array; `body` writes its elements.
    public mutating func array<Failure: Error>(_ body: (inout JSONWriter) throws(Failure) -> Void) throws(Failure) {
        begin("[")
        try body(&self)
        end("]")
    }

    /// Writes a string.
    public mutating func string(_ text: String) {
        separate()
        buffer.append(jsonString: text)
    }

    /// Writes UTF-8 as a string.
    public mutating func string(_ text: Span<UInt8>) {
        separate()
        buffer.append(jsonString: text)
    }

    /// Writes an integer.
    public mutating func number(_ value: Int) {
        separate()
        buffer.append(decimal: value)
    }

    /// Writes `true` or `false`.
    public mutating func boolean(_ value: Bool) {
        separate()
        buffer.append(value ? "true" : "false")
    }

    /// Writes `null`.
    public mutating func null() {
        separate()
        buffer.append("null")
    }

    /// Writes bytes that are a JSON value already.
    public mutating func raw(_ json: Span<UInt8>) {
        separate()
        buffer.append(json)
    }

    /// Lets `body` append a JSON value.
    public mutating func raw<Failure: Error>(
        _ body: (inout ByteBuffer) throws(Failure) -> Void
    ) throws(Failure) {
        separate()
        try body(&buffer)
    }

    // MARK: - Members

    /// Writes the name of a member. The next call writes its value.
    public mutating func name(_ name: String) {
        separate()
        buffer.append(jsonString: name)
        buffer.append(":")
        needsComma = false
    }

    /// Writes a member that is a string; `nil` writes no member.
    public mutating func member(_ name: String, _ text: String?) {
        guard let text else { return }
        self.name(name)
        string(text)
    }

    /// Writes a member that is an integer; `nil` writes no member.
    public mutating func member(_ name: String, _ value: Int?) {
        guard let value else { return }
        self.name(name)
        number(value)
    }

    /// Writes a member that is a Boolean; `nil` writes no member.
    public mutating func member(_ name: String, _ value: Bool?) {
        guard let value else { return }
        self.name(name)
        boolean(value)
    }

    /// Writes a member whose value is JSON already.
    public mutating func member(_ name: String, raw json: Span<UInt8>) {
        self.name(name)
        raw(json)
    }

    /// Writes a member whose value is an object.
    public mutating func object<Failure: Error>(
        _ name: String, _ body: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        self.name(name)
        try object(body)
    }

    /// Writes a member whose value is an array.
    public mutating func array<Failure: Error>(
        _ name: String, _ body: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        self.name(name)
        try array(body)
    }

    // MARK: - Commas

    /// Writes the comma before a value or a name, where one is needed.
    private mutating func separate() {
        if needsComma {
            buffer.append(",")
        }
        needsComma = true
    }

    private mutating func begin(_ bracket: StaticString) {
        separate()
        buffer.append(bracket)
        needsComma = false
    }

    private mutating func end(_ bracket: StaticString) {
        buffer.append(bracket)
        needsComma = true
    }
}

extension ByteBuffer {
    /// Appends the JSON value that `body` writes. If `body` throws, the buffer keeps what was written before.
    public mutating func appendJSON<Failure: Error>(
        _ body: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        // The writer owns the bytes meanwhile, so that they are not copied.
        var writer = JSONWriter(ByteBuffer())
        swap(&writer.buffer, &self)
        defer { swap(&writer.buffer, &self) }
        try body(&writer)
    }
}
