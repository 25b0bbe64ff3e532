import ChatterdBasics
import ChatterdCryptography
import ChatterdIdentity

/// A digest of a message, or of the messages of an owner from the first one to a certain one: the first half of a SHA-256.
///
/// A message counts with its role, its text without white space at its ends, its calls of tools by name and arguments, its images, and the
/// name of its author, but for the model's. Clients drop reasoning, and give calls ids of their own.
public struct HistoryDigest: Sendable, Hashable {
    /// The first eight bytes.
    public let high: UInt64
    /// The last eight bytes.
    public let low: UInt64

    /// The digest with certain halves.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The digest of bytes.
    init(of bytes: Span<UInt8>) {
        let digest = SHA256Digest(of: bytes)
        self.init(high: digest.first, low: digest.second)
    }

    /// The digest of a whole request of an owner. It differs from the digests of all histories.
    ///
    /// - Parameter path: the path of the request; other paths read the same body in another way.
    public init(ofRequest body: Span<UInt8>, to path: String, by owner: Owner) {
        var all = ComparableBytes()
        all.append(owner.defaultKey)
        all.append("request " + path)
        all.append(SHA256Digest(of: body).bytes)
        self.init(of: all.bytes.span)
    }

    /// The history of an owner without a message.
    ///
    /// - Parameter chat: the name that the client's program has for the chat; `nil` for none. Chats with other names have other histories.
    public init(of owner: Owner, chat: String? = nil) {
        var all = ComparableBytes()
        all.append(owner.defaultKey)
        if let chat { all.append(chat) }
        self.init(of: all.bytes.span)
    }

    /// The digest of one message.
    public init(of message: ModelMessage) {
        var all = ComparableBytes()
        all.append(message.role)
        all.append(message.content.trimmed)
        let extras = message.extras.flatMap { try? JSONSlice(Array("{\($0)}".utf8)) }
        let calls = extras?.last("tool_calls", .array)?.elements(first: .max) ?? []
        all.append(calls.count)
        for call in calls {
            let function = call.last("function", .object)
            all.append(function?.last("name", .string)?.string ?? "")
            all.append(argumentsOf: function)
        }
        for image in extras?.last("images", .array)?.elements(first: .max) ?? [] {
            if let image = image.string { all.append(image) }
        }
        // A stored reply has no name.
        if message.role != "assistant", let name = extras?.last("name", .string)?.string, !name.isEmpty {
            all.append("name")
            all.append(name)
        }
        self.init(of: all.bytes.span)
    }

    /// The history with one more message.
    public func followed(by message: ModelMessage) -> HistoryDigest {
        var all = ComparableBytes()
        all.append(self)
        all.append(HistoryDigest(of: message))
        return HistoryDigest(of: all.bytes.span)
    }

    /// The digest in hexadecimal digits.
    public var text: String {
        var all = ComparableBytes()
        all.append(self)
        return String(hexadecimal: all.bytes)
    }

    /// Parses the digits of a digest; `nil` for another text.
    public init?(parsing text: String) {
        guard text.utf8.count == 32 else { return nil }
        var (high, low) = (UInt64.zero, UInt64.zero)
        for byte in text.utf8 {
            guard let digit = byte.hexDigitValue else { return nil }
            (high, low) = (high << 4 | low >> 60, low << 4 | UInt64(digit))
        }
        self.init(high: high, low: low)
    }
}

extension ComparableBytes {
    /// Appends the arguments of a function, however they are spelt.
    fileprivate mutating func append(argumentsOf function: JSONSlice?) {
        let arguments = function?.members(first: .max)?.last { $0.name == "arguments" }?.value
        let object = ToolArguments.object(of: arguments).flatMap { try? JSONSlice($0) }
        append((object ?? arguments)?.comparableBytes ?? [])
    }
}

extension String {
    /// The text without white space at its ends.
    fileprivate var trimmed: String {
        // Most texts have none, and are not copied.
        if let first = utf8.first, let last = utf8.last, first.isVisible, last.isVisible { return self }
        let start = unicodeScalars.firstIndex { !$0.properties.isWhitespace } ?? endIndex
        let end = unicodeScalars.lastIndex { !$0.properties.isWhitespace }.map { unicodeScalars.index(after: $0) }
        return String(unicodeScalars[start..<max(start, end ?? start)])
    }
}

extension UInt8 {
    /// Whether the byte is an ASCII character that one can see.
    fileprivate var isVisible: Bool { self > 0x20 && self < 0x7F }
}
