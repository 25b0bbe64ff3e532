import ChatterdBasics
import ChatterdChat

/// The error that a model server reports in the body of an answer, in any of the known shapes.
///
/// The shapes are: `{"error":"text"}` (Ollama); `{"error":{"message","type","code"}}` with a code that is text, a number or null (OpenAI,
/// vLLM, llama.cpp, LiteLLM), also within `{"type":"error",…}` (Anthropic); the same members without `error` around them (older
/// vLLM, OpenAI's responses); `detail` as text, as an object with `errors`, or as a list of `{loc, msg}`, alone or within `error`
/// (FastAPI, Llama Stack); `{"StatusCode","Status","error"}` (Ollama's remote models); a JSON text inside one of these texts
/// (Ollama passes on the errors of llama.cpp); and text that is not JSON (proxies).
public struct UpstreamErrorBody {
    /// The server's message, unchanged.
    private(set) var message: String?
    /// The message for clients, without internals of the server's machine.
    var clientMessage: String? {
        message.map(\.withoutServerInternals).flatMap { $0.isEmpty ? nil : $0 }
    }
    /// The type of failure, in the server's own term.
    private(set) var type: String?
    /// The code of the failure: another name, or the status again.
    private(set) var code: String?
    /// The context length of the model, if the server reports it.
    private(set) var contextLength: Int?
    /// The tokens of the prompt, if the server reports them.
    private(set) var promptTokens: Int?
    /// A body that is not JSON, for the log only, because a proxy may have written it.
    private(set) var text: String?

    /// The limit of a message, in Unicode scalars, because it is stored and sent with the reply.
    private static let messageLimit = 2_000
    /// The limit of a text for the log, in bytes, and the limit of nesting.
    private static let textLimit = 400
    private static let depthLimit = 5

    /// Reads a body, or one event of an answer.
    public init(_ body: Span<UInt8>) {
        self.init(body, depth: 0)
        guard let message else { return }
        let numbers = ContextNumbers(in: message)
        contextLength = contextLength ?? numbers.contextLength
        promptTokens = promptTokens ?? numbers.promptTokens
        self.message = String(message.unicodeScalars.prefix(Self.messageLimit))
    }

    private init(_ body: Span<UInt8>, depth: Int) {
        var reader = JSONReader(body)
        do throws(JSONError) {
            try read(from: &reader, depth: depth)
        } catch {
            let kept = body.extracting(first: min(body.count, Self.textLimit))
            let start = kept.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            // A web page has no text that is useful in the log.
            text = start.isEmpty || start.hasPrefix("<") ? nil : start
        }
    }

    /// Reads one value: an object with known members, or the message itself.
    private mutating func read(from reader: inout JSONReader, depth: Int) throws(JSONError) {
        switch try reader.kind() {
        case .object where depth < Self.depthLimit:
            try readObject(from: &reader, depth: depth)
        case .array where depth < Self.depthLimit:
            try reader.beginArray()
            var parts: [String] = []
            while try reader.nextElement() {
                var part = UpstreamErrorBody()
                try part.read(from: &reader, depth: depth + 1)
                if let message = part.message, parts.count < 3 { parts.append(message) }
            }
            message = parts.isEmpty ? nil : parts.joined(separator: "; ")
        case .string:
            let string = try reader.string()
            store(message: String(decodingJSON: reader.bytes.extracting(string.range)), depth: depth)
        default:
            try reader.skipValue()
        }
    }

    private init() {}

    private mutating func readObject(from reader: inout JSONReader, depth: Int) throws(JSONError) {
        var inner: UpstreamErrorBody?
        var detail: UpstreamErrorBody?
        var location: String?
        let start = reader.position
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "error") {
                inner = try Self.part(from: &reader, depth: depth)
            } else if reader.matches(key, "detail") || reader.matches(key, "errors") {
                detail = try Self.part(from: &reader, depth: depth)
            } else if reader.matches(key, "message") || reader.matches(key, "msg") {
                try read(from: &reader, depth: depth + 1)
            } else if reader.matches(key, "loc") {
                location = try reader.words(separator: ".")
            } else if reader.matches(key, "type") {
                type = try reader.words(separator: " ") ?? type
            } else if reader.matches(key, "code") {
                code = try reader.words(separator: " ") ?? code
            } else if reader.matches(key, "n_ctx") {
                contextLength = try reader.positiveCountOrSkip()
            } else if reader.matches(key, "n_prompt_tokens") {
                promptTokens = try reader.positiveCountOrSkip()
            } else {
                try reader.skipValue()
            }
        }
        if let location, let text = message { message = "\(location): \(text)" }
        merge(detail, over: false)
        merge(inner, over: true)
        if inner != nil, message == nil {
            // An error without a message is shown as JSON.
            let object = reader.bytes.extracting(start..<reader.position)
            message = object.withUnsafeBufferPointer { String(decoding: $0.prefix(Self.textLimit), as: UTF8.self) }
        }
    }

    /// The value of `error` or `detail`; `nil` for null, false and an empty text, object or array.
    private static func part(from reader: inout JSONReader, depth: Int) throws(JSONError) -> UpstreamErrorBody? {
        switch try reader.kind() {
        case .null:
            try reader.skipValue()
            return nil
        case .boolean:
            return try reader.boolean() ? UpstreamErrorBody() : nil
        case .object, .array, .string, .number:
            let start = reader.position
            var part = UpstreamErrorBody()
            try part.read(from: &reader, depth: depth + 1)
            return reader.position - start == 2 ? nil : part
        }
    }

    /// Adds the fields of a part of the body. With `over` they replace the ones of the surrounding object.
    private mutating func merge(_ part: UpstreamErrorBody?, over: Bool) {
        guard let part else { return }
        message = over ? part.message ?? message : message ?? part.message
        type = over ? part.type ?? type : type ?? part.type
        code = over ? part.code ?? code : code ?? part.code
        contextLength = contextLength ?? part.contextLength
        promptTokens = promptTokens ?? part.promptTokens
    }

    /// Stores a message. If it is a JSON object with a message of its own, the object is read instead.
    private mutating func store(message text: String, depth: Int) {
        if text.hasPrefix("{"), depth < Self.depthLimit {
            let nested = UpstreamErrorBody(text.utf8.span, depth: depth + 1)
            if nested.message != nil {
                merge(nested, over: true)
                return
            }
        }
        message = text.isEmpty ? nil : text
    }
}

extension JSONReader {
    /// Skips a value of any type. Returns it as text if it is a string, a number, or a list of these.
    fileprivate mutating func words(separator: String) throws(JSONError) -> String? {
        switch try kind() {
        case .string:
            return String(decodingJSON: bytes.extracting(try string().range))
        case .number:
            let range = try skipValue()
            return bytes.extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        case .array:
            var parts: [String] = []
            try beginArray()
            while try nextElement() {
                let isNested = try kind() == .array
                if isNested {
                    try skipValue()
                } else if let part = try words(separator: separator) {
                    parts.append(part)
                }
            }
            return parts.joined(separator: separator)
        case .object, .boolean, .null:
            try skipValue()
            return nil
        }
    }
}
