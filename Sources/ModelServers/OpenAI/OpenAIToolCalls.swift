import ChatterdBasics
import ChatterdLanguageModels

/// The tool calls of an answer, gathered from their pieces.
struct OpenAIToolCalls {
    private struct Call {
        /// The place among the calls, as the server counts.
        var index: Int
        /// The insides of JSON strings, as they came.
        var id: [UInt8] = []
        var name: [UInt8] = []
        /// JSON text: decoded from its pieces, or an object as it came.
        var arguments = ByteBuffer()

        /// Whether it has a name and all of its arguments.
        var isWhole: Bool {
            guard !name.isEmpty, !arguments.bytes.isBlank else { return false }
            return (try? JSONReader.validate(arguments.bytes)) != nil
        }

        /// Whether its arguments break off.
        var breaksOff: Bool {
            !arguments.bytes.isBlank && (try? JSONReader.validate(arguments.bytes)) == nil
        }
    }

    /// The calls that an answer may have: each piece is looked for among them.
    static let limit = 1_000

    private var calls: [Call] = []
    /// The place of the call whose piece came last, until something else follows it.
    private var open: Int?
    /// The bytes of all calls so far.
    private(set) var size = 0
    /// Whether there were more than the limit.
    private(set) var areTooMany = false

    /// Whether there is none.
    var isEmpty: Bool { calls.isEmpty }

    /// Takes the pieces of one event: an array, which has been read before.
    mutating func read(_ pieces: Span<UInt8>) throws(JSONError) {
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

    /// Takes a piece of a call as it was written before there were tools: its function alone.
    mutating func read(function piece: Span<UInt8>) throws(JSONError) {
        var reader = JSONReader(piece)
        if calls.isEmpty { calls.append(Call(index: 0)) }
        open = 0
        try readFunction(from: &reader, into: 0)
    }

    /// Notes that the model has gone on to something else: the call whose piece came last is whole.
    mutating func endCall() {
        open = nil
    }

    /// Removes the calls that the token limit cut.
    ///
    /// The call that is still open is never trusted: vLLM closes the arguments of a call that was cut, so that they look whole,
    /// or gives `{}` in place of them.
    mutating func removeCut() {
        calls = calls.enumerated().filter { place, call in place != open && !call.breaksOff }.map(\.element)
        open = nil
    }

    /// Writes the calls as an array in Ollama's shape, arguments as objects.
    ///
    /// - Throws: `malformed` when a call has no name, or arguments that are not a JSON object.
    func append(to buffer: inout ByteBuffer) throws(ModelError) {
        buffer.append(UInt8(ascii: "["))
        for (place, call) in calls.enumerated() {
            guard !call.name.isEmpty else { throw .malformed("a tool call has no name") }
            if place > 0 { buffer.append(UInt8(ascii: ",")) }
            buffer.append(UInt8(ascii: "{"))
            if !call.id.isEmpty {
                buffer.append("\"id\":\"")
                buffer.append(call.id)
                buffer.append("\",")
            }
            buffer.append("\"function\":{\"index\":")
            buffer.append(decimal: place)
            buffer.append(",\"name\":\"")
            buffer.append(call.name)
            buffer.append("\",\"arguments\":")
            try Self.append(arguments: call.arguments, to: &buffer)
            buffer.append("}}")
        }
        buffer.append(UInt8(ascii: "]"))
    }

    private static func append(arguments: ByteBuffer, to buffer: inout ByteBuffer) throws(ModelError) {
        let text = arguments.bytes
        var reader = JSONReader(text)
        do throws(JSONError) {
            // No arguments at all are written as nothing, or as null.
            guard !text.isBlank else {
                buffer.append("{}")
                return
            }
            let kind = try reader.kind()
            let value = try reader.skipValue()
            try reader.finish()
            switch kind {
            case .object: buffer.append(repairingJSON: text.extracting(value))
            case .null: buffer.append("{}")
            default: throw JSONError(.wrongType, at: 0)
            }
        } catch {
            throw .malformed("the arguments of a tool call are not a JSON object", detail: "tool call: \(error)")
        }
    }

    private mutating func readPiece(from reader: inout JSONReader) throws(JSONError) {
        // The index may stand behind what it is about.
        let start = reader.position
        var index: Int?
        var id: [UInt8] = []
        var beginsCall = false
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "index") {
                index = try reader.integerOrSkip()
            } else if reader.matches(key, "id") {
                // Later pieces may say null or nothing.
                id = reader.bytes.array(try reader.textOrSkip()?.range)
            } else if reader.matches(key, "function"), try reader.kind() == .object {
                beginsCall = try reader.beginsCall()
            } else {
                try reader.skipValue()
            }
        }
        let place = place(of: index, id: id, beginsCall: beginsCall)
        open = place
        if calls[place].id.isEmpty {
            calls[place].id = id
            size += id.count
        }
        var again = JSONReader(reader.bytes, at: start)
        try again.beginObject()
        while let key = try again.nextKey() {
            if again.matches(key, "function"), try again.kind() == .object {
                try readFunction(from: &again, into: place)
            } else {
                try again.skipValue()
            }
        }
    }

    /// The call that a piece belongs to: that of its index; without one, a new id begins a new call.
    ///
    /// Some servers give all their calls the same index, but each one whole; others write a new id into each piece of one call.
    private mutating func place(of index: Int?, id: [UInt8], beginsCall: Bool) -> Int {
        if let index {
            guard let place = calls.lastIndex(where: { $0.index == index }) else { return begin(index) }
            let known = calls[place]
            let isAnother = beginsCall && !id.isEmpty && !known.id.isEmpty && known.id != id && known.isWhole
            return isAnother ? begin(index) : place
        }
        if !id.isEmpty || calls.isEmpty {
            return begin((calls.last?.index ?? -1) &+ 1)
        }
        return calls.count - 1
    }

    /// Adds a call, and returns its place.
    private mutating func begin(_ index: Int) -> Int {
        areTooMany = areTooMany || calls.count == Self.limit
        if !areTooMany {
            calls.append(Call(index: index))
        }
        return calls.count - 1
    }

    private mutating func readFunction(from reader: inout JSONReader, into place: Int) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "name") {
                let name = reader.bytes.array(try reader.textOrSkip()?.range)
                if calls[place].name.isEmpty {
                    calls[place].name = name
                    size += name.count
                }
            } else if reader.matches(key, "arguments") {
                try readArguments(from: &reader, into: place)
            } else {
                try reader.skipValue()
            }
        }
    }

    private mutating func readArguments(from reader: inout JSONReader, into place: Int) throws(JSONError) {
        let kind = try reader.kind()
        let before = calls[place].arguments.count
        switch kind {
        case .string:
            let piece = try reader.string()
            calls[place].arguments.append(decodingJSON: reader.bytes.extracting(piece.range))
        case .object:
            let object = try reader.skipValue()
            calls[place].arguments.append(reader.bytes.extracting(object))
        default:
            try reader.skipValue()
        }
        size += calls[place].arguments.count - before
    }
}

extension JSONReader {
    /// Passes the function of a piece, and says whether it has a name and the beginning of an object as arguments.
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
    /// Whether there is nothing but white space.
    fileprivate var isBlank: Bool { withUnsafeBufferPointer { $0.allSatisfy { $0 <= 0x20 } } }

    /// The bytes of a range; none without one.
    fileprivate func array(_ range: Range<Int>?) -> [UInt8] {
        guard let range else { return [] }
        return extracting(range).array
    }
}
