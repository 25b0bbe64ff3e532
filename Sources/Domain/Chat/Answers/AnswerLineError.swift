import ChatterdBasics

/// An error that a model server reports in a line of its answer.
public enum AnswerLineError: Sendable, Equatable {
    /// A text, or the `message` of an error object.
    case text(JSONString)
    /// The range of any other JSON value.
    case value(Range<Int>)

    /// Reads the value of `error`; `nil` if it is null, false or empty, which means no error.
    ///
    /// - Throws: the error of the JSON.
    public init?(from reader: inout JSONReader) throws(JSONError) {
        switch try reader.kind() {
        case .string:
            let text = try reader.string()
            if text.range.isEmpty { return nil }
            self = .text(text)
        case .object:
            let start = reader.position
            var message: JSONString?
            var isEmpty = true
            try reader.beginObject()
            while let key = try reader.nextKey() {
                isEmpty = false
                let isMessage = reader.matches(key, "message")
                if isMessage, try reader.kind() == .string {
                    message = try reader.string()
                } else {
                    try reader.skipValue()
                }
            }
            if let message, !message.range.isEmpty {
                self = .text(message)
            } else {
                if isEmpty { return nil }
                self = .value(start..<reader.position)
            }
        case .null:
            try reader.skipValue()
            return nil
        case .boolean:
            let start = reader.position
            guard try reader.boolean() else { return nil }
            self = .value(start..<reader.position)
        case .number, .array:
            self = .value(try reader.skipValue())
        }
    }

    /// The error as text: the decoded text, or the JSON value unchanged.
    public func text(in line: Span<UInt8>) -> String {
        switch self {
        case .text(let string): String(decodingJSON: line.extracting(string.range))
        case .value(let range):
            line.extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        }
    }
}
