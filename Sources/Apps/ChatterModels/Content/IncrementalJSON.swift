/// Parses a JSON text (RFC 8259) that arrives in pieces, and has the value so far at any time.
///
/// Of a longer beginning of the same text the value has the same members and elements and more after them, and its strings only
/// lengthen. A number or a literal appears when it is complete: a number when a byte follows that is not part of it. So a streamed value
/// never has something that the whole one contradicts.
///
/// Each byte is read once, and a member costs the same in an object of any size. Of two members with one name, the last counts.
public struct IncrementalJSON: Sendable {
    /// The limit of nested containers.
    public static let maximumDepth = 64

    /// A container whose end has not arrived.
    private enum Container {
        case array([StructuredContent])
        /// The members so far, and the name of the one that has begun.
        case object(ObjectMembers, name: String?)
    }

    /// What the next byte belongs to.
    private enum State {
        case value
        /// After `[`: a value or `]`.
        case firstElement
        /// After `{`: a name or `}`.
        case firstName
        case name
        case colon
        /// After a value in a container: a comma or the end of the container.
        case next
        case string(isName: Bool)
        case number
        case literal
        /// After the outermost value.
        case end
    }

    private var state = State.value
    private var containers: [Container] = []
    /// The token that has begun: a number, or a literal.
    private var token: [UInt8] = []
    private var text = JSONStringText()
    private var root: StructuredContent?
    private var offset = 0
    private var fault: JSONFault?

    public init() {}

    /// Whether the outermost value is complete, so that only white space may follow.
    var isOver: Bool { root != nil }

    /// The value so far; `nil` if none has begun, or only a number or literal that is not complete.
    ///
    /// It is put together for each call, which costs a time linear in its members and elements: ask as often as it is shown, not for each
    /// piece of a long text.
    public var value: StructuredContent? {
        if let root { return root }
        var inner: StructuredContent?
        if case .string(isName: false) = state {
            inner = .unfinishedString(text.decoded)
        }
        for container in containers.reversed() {
            switch container {
            case .array(let elements):
                inner = .array(inner.map { elements + [$0] } ?? elements)
            case .object(let members, let name):
                if let name, let value = inner {
                    inner = .object(members.with(name, value))
                } else {
                    inner = .object(members.members)
                }
            }
        }
        return inner
    }

    /// Reads the next bytes of the text.
    ///
    /// - Throws: a fault, then and from then on.
    public mutating func receive(_ bytes: some Sequence<UInt8>) throws(JSONFault) {
        if let fault { throw fault }
        for byte in bytes {
            do throws(JSONFault) {
                try receive(byte)
            } catch {
                fault = error
                throw error
            }
            offset += 1
        }
    }

    /// Reads the end of the text, and returns the value.
    public mutating func finish() throws(JSONFault) -> StructuredContent {
        if let fault { throw fault }
        if case .number = state, containers.isEmpty {
            try endNumber()
        }
        guard let root else { throw failure(.unexpectedEnd) }
        return root
    }

    private mutating func receive(_ byte: UInt8) throws(JSONFault) {
        switch state {
        case .string(let isName):
            guard try text.receive(byte, at: offset) else { return }
            let string = text.takeText()
            if isName {
                try setName(string)
            } else {
                endValue(.string(string))
            }
        case .number:
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."),
                UInt8(ascii: "e"), UInt8(ascii: "E"):
                token.append(byte)
            default:
                try endNumber()
                try receive(byte)
            }
        case .literal:
            token.append(byte)
            try readLiteral()
        default:
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): break
            default: try begin(byte)
            }
        }
    }

    /// Reads a byte between tokens.
    private mutating func begin(_ byte: UInt8) throws(JSONFault) {
        switch (state, byte) {
        case (.firstElement, UInt8(ascii: "]")), (.firstName, UInt8(ascii: "}")): endContainer()
        case (.value, _), (.firstElement, _): try beginValue(byte)
        case (.firstName, UInt8(ascii: "\"")), (.name, UInt8(ascii: "\"")): state = .string(isName: true)
        case (.colon, UInt8(ascii: ":")): state = .value
        case (.next, UInt8(ascii: ",")):
            if case .array = containers.last { state = .value } else { state = .name }
        case (.next, UInt8(ascii: "]")):
            guard case .array = containers.last else { throw failure(.unexpectedByte) }
            endContainer()
        case (.next, UInt8(ascii: "}")):
            guard case .object = containers.last else { throw failure(.unexpectedByte) }
            endContainer()
        case (.end, _): throw failure(.trailingBytes)
        default: throw failure(.unexpectedByte)
        }
    }

    private mutating func beginValue(_ byte: UInt8) throws(JSONFault) {
        switch byte {
        case UInt8(ascii: "\""): state = .string(isName: false)
        case UInt8(ascii: "["), UInt8(ascii: "{"):
            guard containers.count < Self.maximumDepth else { throw failure(.tooDeep) }
            let isArray = byte == UInt8(ascii: "[")
            containers.append(isArray ? .array([]) : .object(ObjectMembers(), name: nil))
            state = isArray ? .firstElement : .firstName
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            token = [byte]
            state = .number
        case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
            token = [byte]
            state = .literal
        default: throw failure(.unexpectedByte)
        }
    }

    private mutating func setName(_ name: String) throws(JSONFault) {
        guard case .object(let members, _)? = containers.popLast() else { throw failure(.unexpectedByte) }
        containers.append(.object(members, name: name))
        state = .colon
    }

    private mutating func endContainer() {
        switch containers.popLast() {
        case .array(let elements)?: endValue(.array(elements))
        case .object(let members, _)?: endValue(.object(members.members))
        case nil: break
        }
    }

    private mutating func endValue(_ value: StructuredContent) {
        state = .next
        switch containers.popLast() {
        case .array(var elements)?:
            elements.append(value)
            containers.append(.array(elements))
        case .object(var members, let name)?:
            members.set(name ?? "", to: value)
            containers.append(.object(members, name: nil))
        case nil:
            root = value
            state = .end
        }
    }

    private mutating func readLiteral() throws(JSONFault) {
        for (literal, value) in [("true", StructuredContent.bool(true)), ("false", .bool(false)), ("null", .null)]
        where literal.utf8.starts(with: token) {
            if token.count == literal.utf8.count {
                endValue(value)
            }
            return
        }
        throw failure(.invalidLiteral)
    }

    private mutating func endNumber() throws(JSONFault) {
        guard let number = StructuredContent(number: token) else { throw failure(.invalidNumber) }
        endValue(number)
    }

    private func failure(_ code: JSONFault.Code) -> JSONFault { JSONFault(code: code, offset: offset) }
}

/// The reason why a text is not JSON (RFC 8259), or has containers that are nested too deeply.
public struct JSONFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of fault.
    #if hasAttribute(nonexhaustive)
        @nonexhaustive(warn)
    #endif
    public enum Code: String, Sendable, Hashable {
        case unexpectedByte, invalidNumber, invalidLiteral, invalidEscape, controlCharacter, invalidUTF8, tooDeep
        /// The text ends inside a value.
        case unexpectedEnd
        /// More text follows the value.
        case trailingBytes
    }

    public let code: Code
    /// The number of bytes before the fault.
    public let offset: Int

    /// A sentence for people.
    public var description: String { "The text is not JSON: \(code.reason) at byte \(offset)." }
}

extension JSONFault.Code {
    fileprivate var reason: String {
        switch self {
        case .unexpectedByte: "an unexpected character"
        case .invalidNumber: "a malformed number"
        case .invalidLiteral: "a word that is not true, false or null"
        case .invalidEscape: "a malformed escape"
        case .controlCharacter: "a control character"
        case .invalidUTF8: "bytes that are not UTF-8"
        case .tooDeep: "too many nested values"
        case .unexpectedEnd: "its end inside a value"
        case .trailingBytes: "more text after the value"
        }
    }
}
