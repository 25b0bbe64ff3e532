import ChatterdBasics

/// A complaint of a model server in a line of its answer.
public enum AnswerLineError: Sendable, Equatable {
    /// The text itself, or the `message` of an error object.
    case text(JSONString)
    /// Any other JSON value, by its place.
    case value(Range<Int>)

    /// Reads the value of `error`; nil if it is null, false or empty, which says that there is no error.
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

    /// The complaint in words: the text decoded, or the JSON value as it stands.
    public func text(in line: Span<UInt8>) -> String {
        switch self {
        case .text(let string): String(decodingJSON: line.extracting(string.range))
        case .value(let range):
            line.extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        }
    }
}
