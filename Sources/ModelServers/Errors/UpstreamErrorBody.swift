import ChatterdBasics
import ChatterdLanguageModels

/// What a model server says of a failure, in whichever of the shapes that are about.
///
/// They are: `{"error":"text"}` (Ollama); `{"error":{"message","type","code"}}` with a code that is text, a number or null (OpenAI,
/// vLLM, llama.cpp, LiteLLM), also within `{"type":"error",…}` (Anthropic); the same members without `error` around them (older
/// vLLM, OpenAI's responses); `detail` as text, as an object with `errors`, or as a list of `{loc, msg}`, alone or within `error`
/// (FastAPI, Llama Stack); `{"StatusCode","Status","error"}` (Ollama's remote models); a JSON text inside one of these texts
/// (Ollama passes on what llama.cpp said); and text that is not JSON (proxies).
public struct UpstreamErrorBody {
    /// The server's message, unchanged.
    private(set) var message: String?
    /// The message for clients, without internals of the server's machine.
    var words: String? {
        message.map(\.withoutServerInternals).flatMap { $0.isEmpty ? nil : $0 }
    }
    /// The kind of failure, as the server calls it.
    private(set) var type: String?
    /// Another name for it, or the status once more.
    private(set) var code: String?
    /// The tokens that the model takes, where told.
    private(set) var contextLength: Int?
    /// The tokens of the prompt, where told.
    private(set) var promptTokens: Int?
    /// What came if it is not JSON: for the log, as it may be anybody's.
    private(set) var text: String?

    /// The longest message, in Unicode scalars: it is stored and sent with the reply.
    private static let messageLimit = 2_000
    /// The longest text for the log, and the deepest nesting that is looked into.
    private static let textLimit = 400
    private static let depthLimit = 5

    /// Reads a body, or one event of an answer.
    init(_ body: Span<UInt8>) {
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
            let words = kept.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            // A page says nothing that a line of a log could hold.
            text = words.isEmpty || words.hasPrefix("<") ? nil : words
        }
    }

    /// Reads one value: an object with members of interest, or the words themselves.
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
                if let words = part.message, parts.count < 3 { parts.append(words) }
            }
            message = parts.isEmpty ? nil : parts.joined(separator: "; ")
        case .string:
            let string = try reader.string()
            take(String(decodingJSON: reader.bytes.extracting(string.range)), depth: depth)
        default:
            try reader.skipValue()
        }
    }

    private init() {}

    private mutating func readObject(from reader: inout JSONReader, depth: Int) throws(JSONError) {
        var inner: UpstreamErrorBody?
        var detail: UpstreamErrorBody?
        var place: String?
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
                place = try reader.words(separator: ".")
            } else if reader.matches(key, "type") {
                type = try reader.words(separator: " ") ?? type
            } else if reader.matches(key, "code") {
                code = try reader.words(separator: " ") ?? code
            } else if reader.matches(key, "n_ctx") {
                contextLength = try reader.count()
            } else if reader.matches(key, "n_prompt_tokens") {
                promptTokens = try reader.count()
            } else {
                try reader.skipValue()
            }
        }
        if let place, let words = message { message = "\(place): \(words)" }
        merge(detail, over: false)
        merge(inner, over: true)
        if inner != nil, message == nil {
            // An error without words is shown as it stands.
            let object = reader.bytes.extracting(start..<reader.position)
            message = object.withUnsafeBufferPointer { String(decoding: $0.prefix(Self.textLimit), as: UTF8.self) }
        }
    }

    /// The value of `error` or `detail`; nothing for null, false and the empty text, which say that there is none.
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

    /// Takes what a part of the body says; `over` when it counts more than what stands around it.
    private mutating func merge(_ part: UpstreamErrorBody?, over: Bool) {
        guard let part else { return }
        message = over ? part.message ?? message : message ?? part.message
        type = over ? part.type ?? type : type ?? part.type
        code = over ? part.code ?? code : code ?? part.code
        contextLength = contextLength ?? part.contextLength
        promptTokens = promptTokens ?? part.promptTokens
    }

    /// Takes words, which may be a JSON text that says it better.
    private mutating func take(_ words: String, depth: Int) {
        if words.hasPrefix("{"), depth < Self.depthLimit {
            let nested = UpstreamErrorBody(words.utf8.span, depth: depth + 1)
            if nested.message != nil {
                merge(nested, over: true)
                return
            }
        }
        message = words.isEmpty ? nil : words
    }
}

extension JSONReader {
    /// Passes a value, and returns it if it is text or a number, or a list of these.
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

    /// Passes a value, and returns it if it is a number that counts something.
    fileprivate mutating func count() throws(JSONError) -> Int? {
        guard try kind() == .number else {
            try skipValue()
            return nil
        }
        return try integer().flatMap { $0 > 0 ? $0 : nil }
    }
}
