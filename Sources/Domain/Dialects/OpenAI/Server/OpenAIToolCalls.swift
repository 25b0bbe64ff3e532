import ChatterdBasics
import ChatterdChat

/// The tool calls of an answer, collected from their pieces.
struct OpenAIToolCalls {
    private struct Call {
        /// The number that the server gives to the call.
        var number: Int
        /// The insides of JSON strings, as they came.
        var id: [UInt8] = []
        var name: [UInt8] = []
        /// JSON text: decoded from its pieces, or an object as it came.
        var arguments = ByteBuffer()
        /// Follows the arguments, because a server may ask with each piece whether they have ended.
        private var nesting = Nesting()

        init(number: Int) {
            self.number = number
        }

        /// Whether it has a name and all of its arguments.
        var isWhole: Bool { !name.isEmpty && nesting.hasEnded }

        /// Adds a piece of the arguments by `append`.
        mutating func appendArguments(_ append: (inout ByteBuffer) -> Void) {
            let before = arguments.count
            append(&arguments)
            var nesting = nesting
            nesting.read(arguments.bytes.extracting(before...))
            self.nesting = nesting
        }

        /// Whether its arguments end before their JSON does.
        var isCut: Bool {
            !arguments.bytes.isBlank && (try? JSONReader.validate(arguments.bytes)) == nil
        }
    }

    /// How deep the end of a JSON text is, which comes in pieces.
    private struct Nesting {
        private var depth = 0
        private var isEmpty = true
        private var isInString = false
        private var isEscaped = false

        /// Whether a value has begun and no bracket and no string is open.
        var hasEnded: Bool { !isEmpty && depth <= 0 && !isInString }

        mutating func read(_ piece: Span<UInt8>) {
            for index in 0..<piece.count {
                let byte = piece[index]
                if isInString {
                    isInString = isEscaped || byte != UInt8(ascii: "\"")
                    isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                    continue
                }
                switch byte {
                case UInt8(ascii: "\""): isInString = true
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth &+= 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"): depth &-= 1
                default: break
                }
                isEmpty = isEmpty && byte <= 0x20
            }
        }
    }

    /// The limit of calls of an answer, because each piece is searched among them.
    static let limit = 1_000

    private var calls: [Call] = []
    /// The index of the call whose piece came last; `nil` once something else has followed it.
    private var open: Int?
    /// The bytes of all calls so far.
    private(set) var size = 0
    /// Whether the answer has more calls than the limit.
    private(set) var areTooMany = false

    var isEmpty: Bool { calls.isEmpty }

    /// Adds the pieces of one event: an array, which has been parsed before.
    mutating func append(_ pieces: Span<UInt8>) throws(JSONError) {
        var reader = JSONReader(pieces)
        try reader.beginArray()
        while try reader.nextElement() {
            guard try reader.kind() == .object else {
                try reader.skipValue()
                continue
            }
            try readPiece(from: &reader)
        }
    }

    /// Adds a piece of a call in the form that came before tools: its function alone.
    mutating func append(function piece: Span<UInt8>) throws(JSONError) {
        var reader = JSONReader(piece)
        if calls.isEmpty { calls.append(Call(number: 0)) }
        open = 0
        try readFunction(from: &reader, into: 0)
    }

    /// Ends the call whose piece came last, because something else has followed it.
    mutating func endCall() {
        open = nil
    }

    /// Removes the calls that the token limit cut.
    ///
    /// The open call is always removed: vLLM closes the arguments of a call that was cut, so that they look whole, or sends `{}`
    /// instead.
    mutating func removeCut() {
        calls = calls.enumerated().filter { index, call in index != open && !call.isCut }.map(\.element)
        open = nil
    }

    /// Writes the calls as an array in Ollama's shape, arguments as objects.
    ///
    /// - Throws: `malformed` if a call has no name, or arguments that break off.
    func append(to buffer: inout ByteBuffer) throws(ModelError) {
        try buffer.appendJSON { writer throws(ModelError) in
            try writer.array { array throws(ModelError) in
                for (index, call) in calls.enumerated() {
                    guard !call.name.isEmpty else { throw .malformed("a tool call has no name") }
                    guard !ToolArguments.breakOff(call.arguments.bytes) else {
                        throw .malformed("the arguments of a tool call break off")
                    }
                    array.object { object in
                        if !call.id.isEmpty { object.member("id", inside: call.id.span) }
                        object.object("function") { function in
                            function.member("index", index)
                            function.member("name", inside: call.name.span)
                            function.name("arguments")
                            let arguments = ToolArguments.object(holding: call.arguments.array)
                            function.raw { $0.append(repairingJSON: arguments.span) }
                        }
                    }
                }
            }
        }
    }

    private mutating func readPiece(from reader: inout JSONReader) throws(JSONError) {
        // The number may follow the function, so the piece is read twice.
        let start = reader.position
        var number: Int?
        var id: [UInt8] = []
        var beginsCall = false
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "index") {
                number = try reader.integerOrSkip()
            } else if reader.matches(key, "id") {
                // Later pieces may have null or no id.
                id = reader.bytes.array(try reader.textOrSkip()?.range)
            } else if reader.matches(key, "function"), try reader.kind() == .object {
                beginsCall = try reader.beginsCall()
            } else {
                try reader.skipValue()
            }
        }
        let index = index(of: number, id: id, beginsCall: beginsCall)
        open = index
        if calls[index].id.isEmpty {
            calls[index].id = id
            size += id.count
        }
        var again = JSONReader(reader.bytes, at: start)
        try again.beginObject()
        while let key = try again.nextKey() {
            if again.matches(key, "function"), try again.kind() == .object {
                try readFunction(from: &again, into: index)
            } else {
                try again.skipValue()
            }
        }
    }

    /// The index of the call that a piece belongs to: the call with its number; without a number, a new id begins a new call.
    ///
    /// Some servers give all their calls the same number, but send each one whole; others write a new id into each piece of one call.
    private mutating func index(of number: Int?, id: [UInt8], beginsCall: Bool) -> Int {
        if let number {
            guard let index = calls.lastIndex(where: { $0.number == number }) else { return begin(number) }
            let known = calls[index]
            let isAnother = beginsCall && !id.isEmpty && !known.id.isEmpty && known.id != id && known.isWhole
            return isAnother ? begin(number) : index
        }
        if !id.isEmpty || calls.isEmpty {
            return begin((calls.last?.number ?? -1) &+ 1)
        }
        return calls.count - 1
    }

    /// Adds a call, unless there are too many. Returns the index of the last call.
    private mutating func begin(_ number: Int) -> Int {
        areTooMany = areTooMany || calls.count == Self.limit
        if !areTooMany {
            calls.append(Call(number: number))
        }
        return calls.count - 1
    }

    private mutating func readFunction(from reader: inout JSONReader, into index: Int) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "name") {
                let name = reader.bytes.array(try reader.textOrSkip()?.range)
                if calls[index].name.isEmpty {
                    calls[index].name = name
                    size += name.count
                }
            } else if reader.matches(key, "arguments") {
                try readArguments(from: &reader, into: index)
            } else {
                try reader.skipValue()
            }
        }
    }

    private mutating func readArguments(from reader: inout JSONReader, into index: Int) throws(JSONError) {
        let kind = try reader.kind()
        let before = calls[index].arguments.count
        switch kind {
        case .string:
            let piece = try reader.string()
            calls[index].appendArguments { $0.append(decodingJSON: reader.bytes.extracting(piece.range)) }
        case .object:
            let object = try reader.skipValue()
            calls[index].appendArguments { $0.append(reader.bytes.extracting(object)) }
        default:
            try reader.skipValue()
        }
        size += calls[index].arguments.count - before
    }
}

extension JSONReader {
    /// Skips the function of a piece. Returns whether it has a name and the beginning of an object as arguments.
    fileprivate mutating func beginsCall() throws(JSONError) -> Bool {
        var (hasName, hasObject) = (false, false)
        try beginObject()
        while let key = try nextKey() {
            if matches(key, "name") {
                hasName = try textOrSkip() != nil
            } else if matches(key, "arguments") {
                let isString = try kind() == .string
                let value = try skipValue()
                hasObject = bytes[isString ? value.lowerBound + 1 : value.lowerBound] == UInt8(ascii: "{")
            } else {
                try skipValue()
            }
        }
        return hasName && hasObject
    }
}

extension Span<UInt8> {
    /// Whether all bytes are white space.
    fileprivate var isBlank: Bool { withUnsafeBufferPointer { $0.allSatisfy { $0 <= 0x20 } } }
}
