import ChatterdBasics

/// The fields of a head in the order sent. Names are case-insensitive.
public struct Fields: Sendable, Hashable {
    /// One field line.
    public struct Field: Sendable, Hashable {
        public let name: FieldName
        /// The value; bytes that were not UTF-8 are U+FFFD.
        public let value: String
    }

    private var list: [Field] = []

    /// Creates an empty list.
    public init() {}

    /// The number of field lines.
    public var count: Int { list.count }

    /// Whether there is no field line.
    public var isEmpty: Bool { list.isEmpty }

    /// The first value of a name; `nil` if there is none.
    public subscript(name: FieldName) -> String? {
        list.first { $0.name == name }?.value
    }

    /// All values of a name, in order.
    public func values(of name: FieldName) -> [String] {
        list.filter { $0.name == name }.map(\.value)
    }

    /// The number of field lines with a name.
    public func count(of name: FieldName) -> Int {
        list.reduce(0) { $0 + ($1.name == name ? 1 : 0) }
    }

    /// Whether there is a field with a name.
    public func contains(_ name: FieldName) -> Bool {
        list.contains { $0.name == name }
    }

    /// Adds a field line after all others.
    public mutating func add(_ name: FieldName, _ value: FieldValue) {
        list.append(Field(name: name, value: value.text))
    }

    /// Replaces all fields of a name by one at the end.
    public mutating func set(_ name: FieldName, _ value: FieldValue) {
        remove(name)
        add(name, value)
    }

    /// Removes all fields of a name.
    public mutating func remove(_ name: FieldName) {
        list.removeAll { $0.name == name }
    }

    /// Reserves memory for `count` field lines.
    public mutating func reserveCapacity(_ count: Int) {
        list.reserveCapacity(count)
    }
}

extension Fields: RandomAccessCollection {
    /// The index of the first field line.
    public var startIndex: Int { 0 }
    /// The index after the last field line.
    public var endIndex: Int { list.count }
    /// The field line at an index.
    public subscript(position: Int) -> Field { list[position] }
}

extension Fields: ExpressibleByDictionaryLiteral {
    /// Creates fields in the order written; a name may occur more than once.
    public init(dictionaryLiteral elements: (FieldName, FieldValue)...) {
        list.reserveCapacity(elements.count)
        for (name, value) in elements {
            add(name, value)
        }
    }
}

extension Fields {
    /// The elements of a comma-separated list, RFC 9110 5.6.1, over all lines of a name; empty elements are left out.
    public func elements(of name: FieldName) -> [Substring] {
        var found: [Substring] = []
        for field in list where field.name == name {
            for element in field.value.unicodeScalars.split(separator: ",") {
                let element = Substring(element).trimmingBlanks()
                if !element.isEmpty {
                    found.append(element)
                }
            }
        }
        return found
    }

    /// Whether a comma-separated list holds a token, in any case.
    func listContains(_ token: StaticString, in name: FieldName) -> Bool {
        contains(name) && elements(of: name).contains { Grammar.equals($0, lowercase: token) }
    }
}

extension Substring {
    /// The text without SP and HTAB at its ends.
    func trimmingBlanks() -> Substring {
        var rest = utf8
        while let first = rest.first, Grammar.isBlank(first) {
            rest.removeFirst()
        }
        while let last = rest.last, Grammar.isBlank(last) {
            rest.removeLast()
        }
        return Substring(rest)
    }
}
