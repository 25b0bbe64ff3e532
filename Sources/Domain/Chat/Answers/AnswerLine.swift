import ChatterdBasics

/// The fields of one line of an answer in the shape of Ollama's `/api/chat`, as ranges of the line.
///
/// One walk over the line checks all of it. Keys may come in any order; of two equal keys the last one counts.
public struct AnswerLine: Sendable, Equatable {
    /// The object, without white space around it.
    public private(set) var object = 0..<0

    /// The error that the model server reports. With an error the answer has failed, even if the line has other members.
    public private(set) var error: AnswerLineError?

    /// Whether this is the last line of the answer.
    public private(set) var isDone = false

    /// `created_at`.
    public private(set) var createdAt: JSONString?

    /// `message`, braces included.
    public private(set) var message: Range<Int>?

    /// `message.content`.
    public private(set) var content: JSONString?

    /// `message.thinking`.
    public private(set) var thinking: JSONString?

    /// `message.tool_calls`, brackets included; `nil` if there are none.
    public private(set) var toolCalls: Range<Int>?

    /// Why the model stopped: `stop`, `length`, `load`, `unload`.
    public private(set) var doneReason: JSONString?

    /// The tokens of the prompt that were evaluated; absent when all of them came from a cache.
    public private(set) var promptTokens: Int?

    /// The tokens of the answer.
    public private(set) var answerTokens: Int?

    /// The members that clients of the first generation need and the line does not have.
    public private(set) var missing = AnswerLineMembers.all

    /// Whether the line must be rewritten before it can be stored and sent; see `ByteBuffer.append(repairingJSON:)`.
    public private(set) var needsRepair = false

    /// Reads a line, which may have white space around it.
    ///
    /// - Throws: `wrongType` if the line is not an object, or the error of the JSON.
    public init(_ line: Span<UInt8>) throws(JSONError) {
        var reader = JSONReader(line)
        guard try reader.kind() == .object else { throw JSONError(.wrongType, at: reader.position) }
        let start = reader.position
        try reader.beginObject()
        while let key = try reader.nextKey() {
            try readMember(key, from: &reader)
        }
        object = start..<reader.position
        try reader.finish()
        needsRepair = reader.hasUnstorableEscapes || reader.hasLineEnds || !UTF8Repair.isValid(line)
    }

    /// The fields of a line that differs from another one only in these two strings. The time precedes the content.
    public init(_ other: AnswerLine, createdAt time: JSONString, content text: JSONString) {
        self = other
        guard let oldTime = other.createdAt, let oldText = other.content, let oldMessage = other.message else { return }
        let shift = time.range.upperBound - oldTime.range.upperBound
        let growth = text.range.upperBound - oldText.range.upperBound
        createdAt = time
        content = text
        message = (oldMessage.lowerBound + shift)..<(oldMessage.upperBound + growth)
        object = object.lowerBound..<(object.upperBound + growth)
    }

    /// Whether the line has a part of the answer: text, reasoning or tool calls.
    public var hasAnswer: Bool {
        content?.range.isEmpty == false || thinking?.range.isEmpty == false || toolCalls != nil
    }

    /// Whether the line has text and no other field.
    public var isPlainToken: Bool {
        content != nil && !isDone && missing.isEmpty && !needsRepair && error == nil && thinking == nil
            && toolCalls == nil && doneReason == nil && promptTokens == nil && answerTokens == nil
    }

    private mutating func readMember(_ key: JSONString, from reader: inout JSONReader) throws(JSONError) {
        if reader.matches(key, "message") {
            try readMessage(from: &reader)
        } else if reader.matches(key, "model") {
            mark(.model, ifPresent: try reader.stringOrSkip() != nil)
        } else if reader.matches(key, "created_at") {
            createdAt = try reader.stringOrSkip()
            mark(.createdAt, ifPresent: createdAt != nil)
        } else if reader.matches(key, "done") {
            isDone = try reader.kind() == .boolean ? reader.boolean() : reader.skipped(false)
        } else if reader.matches(key, "done_reason") {
            doneReason = try reader.stringOrSkip()
        } else if reader.matches(key, "prompt_eval_count") {
            promptTokens = try reader.countOrSkip()
        } else if reader.matches(key, "eval_count") {
            answerTokens = try reader.countOrSkip()
        } else if reader.matches(key, "error") {
            error = try AnswerLineError(from: &reader)
        } else {
            try reader.skipValue()
        }
    }

    private mutating func readMessage(from reader: inout JSONReader) throws(JSONError) {
        // Of two messages only the last one counts.
        (message, content, thinking, toolCalls) = (nil, nil, nil, nil)
        missing.formUnion([.message, .role, .content])
        guard try reader.kind() == .object else { return try reader.skipped(()) }
        let start = reader.position
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "content") {
                // Old clients decode null like a text.
                let isNull = try reader.kind() == .null
                content = try reader.stringOrSkip()
                mark(.content, ifPresent: content != nil || isNull)
            } else if reader.matches(key, "role") {
                mark(.role, ifPresent: try reader.stringOrSkip() != nil)
            } else if reader.matches(key, "thinking") {
                thinking = try reader.stringOrSkip()
            } else if reader.matches(key, "tool_calls") {
                toolCalls = try reader.arrayOrSkip()
            } else {
                try reader.skipValue()
            }
        }
        message = start..<reader.position
        missing.remove(.message)
    }

    private mutating func mark(_ member: AnswerLineMembers, ifPresent isPresent: Bool) {
        if isPresent {
            missing.remove(member)
        } else {
            missing.insert(member)
        }
    }
}

extension JSONReader {
    /// Skips a value. Returns the substitute for it.
    fileprivate mutating func skipped<Value>(_ value: Value) throws(JSONError) -> Value {
        try skipValue()
        return value
    }
}
