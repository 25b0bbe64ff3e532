/// A JSON text whose values are compared: equal values have equal bytes, whatever their spelling and the order of their members.
///
/// The time is linear in the text, but for the sorting of names. Recursion goes as deep as the text is nested, at most
/// `JSONReader.maximumDepth`.
struct JSONDocument: Sendable {
    /// The reason why a text is not a document.
    enum Problem: Error, Equatable {
        /// The text is not JSON in UTF-8.
        case json(JSONError)
        /// The text has more values than the limit.
        case tooManyValues
        /// An object has two members of one name, of which some readers take the first one, others the last one.
        case repeatedName
    }

    /// A value.
    struct Node: Sendable {
        let kind: JSONKind
        /// The place in the text.
        let source: Range<UInt32>
        /// The elements, or the members sorted by name, in `members`.
        let members: Range<UInt32>
        /// The place in `forms`.
        fileprivate(set) var form: Range<UInt32> = 0..<0
        /// The text of a string in `forms`.
        fileprivate(set) var string: Range<UInt32> = 0..<0
    }

    /// A member of an object, or an element of an array.
    struct Member: Sendable {
        /// The place in `names`; empty for an element.
        let name: Range<UInt32>
        /// The number of the value.
        let value: UInt32
    }

    private let text: [UInt8]
    private(set) var nodes: [Node] = []
    private var members: [Member] = []
    private var names: [UInt8] = []
    private var forms: [UInt8] = []
    /// The number of the outermost value.
    private(set) var root = 0

    /// Reads a text.
    ///
    /// - Parameter maximumValues: the limit of all values, containers included.
    init(_ text: [UInt8], maximumValues: Int) throws(Problem) {
        self.text = text
        do throws(JSONError) {
            try JSONReader.validate(text.readable)
        } catch {
            throw .json(error)
        }
        var reader = JSONReader(text.readable)
        root = try read(&reader, maximumValues)
        appendForm(of: root)
    }

    // MARK: - Values

    /// The text of a value, as it came.
    func source(of node: Int) -> [UInt8] { text.readable.extracting(nodes[node].source.offsets).array }

    /// The form of a value that all equal values share.
    func form(of node: Int) -> ArraySlice<UInt8> { forms[nodes[node].form.offsets] }

    /// The text of a string; empty for another value.
    func string(of node: Int) -> ArraySlice<UInt8> { forms[nodes[node].string.offsets] }

    /// A number; `nil` for another value.
    func number(of node: Int) -> JSONDecimal? {
        guard nodes[node].kind == .number else { return nil }
        return JSONDecimal(text.readable.extracting(nodes[node].source.offsets))
    }

    /// A whole number of at least 0 that fits an integer, in any spelling; `nil` for another value.
    func count(of node: Int) -> Int? {
        guard let number = number(of: node), !number.isNegative, number.isWhole,
            number.digits.count + number.exponent <= 18
        else { return nil }
        let digits = number.digits + repeatElement(0, count: number.exponent)
        return digits.reduce(0) { $0 * 10 + Int($1) }
    }

    /// A boolean; `nil` for another value.
    func boolean(of node: Int) -> Bool? {
        guard nodes[node].kind == .boolean else { return nil }
        return text[Int(nodes[node].source.lowerBound)] == UInt8(ascii: "t")
    }

    /// The elements, or the members in the order of their names; none for another value.
    func members(of node: Int) -> ArraySlice<Member> { members[nodes[node].members.offsets] }

    func name(of member: Member) -> ArraySlice<UInt8> { names[member.name.offsets] }

    /// The value of a member of an object; `nil` if there is none.
    func member(_ name: ArraySlice<UInt8>, of node: Int) -> Int? {
        guard nodes[node].kind == .object else { return nil }
        let members = members(of: node)
        let index = members.partition { self.name(of: $0).lexicographicallyPrecedes(name) }
        guard index < members.endIndex, self.name(of: members[index]) == name else { return nil }
        return Int(members[index].value)
    }

    func member(_ name: StaticString, of node: Int) -> Int? {
        member(ArraySlice(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)), of: node)
    }

    /// The JSON Pointer of a value (RFC 6901), of at most `limit` bytes and a mark where it is cut.
    func pointer(to node: Int, limit: Int = .max) -> String {
        var pointer = ByteBuffer()
        var place = root
        // The parts of a value have lower numbers, and those of each part are in a row that ends with it.
        while place != node {
            let parts = members(of: place)
            guard let part = parts.filter({ $0.value >= node }).min(by: { $0.value < $1.value }) else { break }
            pointer.append("/")
            if nodes[place].kind == .object {
                for byte in name(of: part) {
                    switch byte {
                    case UInt8(ascii: "~"): pointer.append("~0")
                    case UInt8(ascii: "/"): pointer.append("~1")
                    default: pointer.append(byte)
                    }
                }
            } else {
                pointer.append(decimal: parts.count { $0.value < part.value })
            }
            place = Int(part.value)
        }
        let bytes = pointer.array
        return String(decoding: bytes.prefix(limit), as: UTF8.self) + (bytes.count > limit ? "…" : "")
    }

    // MARK: - Reading

    /// Reads a value of a text that is valid; all its parts have lower numbers.
    private mutating func read(_ reader: inout JSONReader, _ maximum: Int) throws(Problem) -> Int {
        let kind = (try? reader.kind()) ?? .null
        let start = UInt32(reader.position)
        var parts: [Member] = []
        switch kind {
        case .object:
            try? reader.beginObject()
            while let key = try? reader.nextKey() {
                let name = UInt32(names.count)
                Self.append(key, in: reader.bytes, to: &names)
                let end = UInt32(names.count)
                parts.append(Member(name: name..<end, value: UInt32(try read(&reader, maximum))))
            }
            parts.sort { name(of: $0).lexicographicallyPrecedes(name(of: $1)) }
            for (one, next) in zip(parts, parts.dropFirst()) where name(of: one) == name(of: next) {
                throw .repeatedName
            }
        case .array:
            try? reader.beginArray()
            while (try? reader.nextElement()) == true {
                parts.append(Member(name: 0..<0, value: UInt32(try read(&reader, maximum))))
            }
        default: _ = try? reader.skipValue()
        }
        guard nodes.count < maximum else { throw .tooManyValues }
        let first = UInt32(members.count)
        members += parts
        nodes.append(
            Node(kind: kind, source: start..<UInt32(reader.position), members: first..<UInt32(members.count)))
        return nodes.count - 1
    }

    /// Appends the text of a string; NUL and halves of surrogate pairs are U+FFFD, as in stored answers.
    private static func append(_ string: JSONString, in text: Span<UInt8>, to bytes: inout [UInt8]) {
        if string.hasEscapes {
            var decoded = ByteBuffer()
            decoded.append(decodingJSON: text.extracting(string.range))
            bytes += decoded.array
        } else {
            text.extracting(string.range).withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
        }
    }

    /// Appends the form of a value: members by name, texts with their length before them.
    private mutating func appendForm(of node: Int) {
        let start = UInt32(forms.count)
        let (kind, source) = (nodes[node].kind, nodes[node].source.offsets)
        switch kind {
        case .object, .array:
            forms.append(UInt8(ascii: kind == .object ? "{" : "["))
            for index in nodes[node].members.offsets {
                let member = members[index]
                if kind == .object {
                    appendLength(member.name.count)
                    forms += names[member.name.offsets]
                }
                appendForm(of: Int(member.value))
            }
            forms.append(UInt8(ascii: kind == .object ? "}" : "]"))
        case .string:
            var reader = JSONReader(text.readable, at: source.lowerBound)
            var decoded: [UInt8] = []
            if let string = try? reader.string() { Self.append(string, in: text.readable, to: &decoded) }
            appendLength(decoded.count)
            let first = UInt32(forms.count)
            forms += decoded
            nodes[node].string = first..<UInt32(forms.count)
        case .number: JSONDecimal(text.readable.extracting(source)).append(to: &forms)
        case .boolean, .null: forms.append(text[source.lowerBound])
        }
        nodes[node].form = start..<UInt32(forms.count)
    }

    private mutating func appendLength(_ length: Int) {
        forms.append(UInt8(ascii: "\""))
        forms += Array(String(length).utf8)
        forms.append(UInt8(ascii: ":"))
    }
}

extension Range<UInt32> {
    /// The range as indices.
    var offsets: Range<Int> { Int(lowerBound)..<Int(upperBound) }
}

extension ArraySlice {
    /// The first index of a sorted slice whose element does not precede; the end if all do.
    func partition(_ precedes: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if precedes(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
