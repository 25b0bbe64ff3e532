import ChatterdBasics
import ChatterdLanguageModels

/// One message in Ollama's shape, as ranges of its text, with its translation for an OpenAI server.
struct OpenAIMessage {
    /// The whole object.
    let range: Range<Int>
    private var role = 0..<0
    private var content = 0..<0
    private var thinking: Range<Int>?
    private var images: Range<Int>?
    private var toolCalls: Range<Int>?
    private var toolName: Range<Int>?
    private var toolCallID: Range<Int>?
    private var isPlain = true

    /// Reads the message that begins at `start`.
    init(_ json: Span<UInt8>, at start: Int) throws(JSONError) {
        var reader = JSONReader(json, at: start)
        var members: [(JSONString, Range<Int>)] = []
        try reader.beginObject()
        while let key = try reader.nextKey() {
            members.append((key, try reader.skipValue()))
        }
        range = start..<reader.position
        for (key, value) in members {
            let inside = value.lowerBound + 1..<max(value.upperBound - 1, value.lowerBound + 1)
            if reader.matches(key, "role") {
                role = inside
                continue
            }
            if reader.matches(key, "content") {
                content = inside
                continue
            }
            isPlain = false
            if reader.matches(key, "thinking") {
                thinking = inside.isEmpty ? nil : inside
            } else if reader.matches(key, "images") {
                images = inside.isEmpty ? nil : value
            } else if reader.matches(key, "tool_calls") {
                toolCalls = inside.isEmpty ? nil : value
            } else if reader.matches(key, "tool_name") {
                toolName = inside
            } else if reader.matches(key, "tool_call_id") {
                toolCallID = inside
            }
        }
        isPlain = isPlain && !json.extracting(role).isTool
    }

    /// Appends the message in OpenAI's shape.
    ///
    /// - Throws: the error of images that are not strings, or of tool calls that are not objects.
    func append(
        from json: Span<UInt8>, to body: inout ByteBuffer, naming calls: inout OpenAICallNames
    ) throws(JSONError) {
        guard !isPlain else {
            body.append(json.extracting(range))
            return
        }
        body.append("{\"role\":\"")
        body.append(json.extracting(role))
        body.append("\",\"content\":")
        try appendContent(from: json, to: &body)
        if let thinking {
            // Each server reads one of the two names and ignores the other.
            for name: StaticString in ["reasoning", "reasoning_content"] {
                body.append(",\"")
                body.append(name)
                body.append("\":\"")
                body.append(json.extracting(thinking))
                body.append(UInt8(ascii: "\""))
            }
        }
        if let toolCalls {
            body.append(",\"tool_calls\":[")
            try Self.append(calls: json.extracting(toolCalls), to: &body, naming: &calls)
            body.append(UInt8(ascii: "]"))
        }
        if json.extracting(role).isTool {
            appendResultID(from: json, to: &body, naming: &calls)
        }
        body.append(UInt8(ascii: "}"))
    }

    private func appendContent(from json: Span<UInt8>, to body: inout ByteBuffer) throws(JSONError) {
        let text = json.extracting(content)
        guard let images else {
            if text.isEmpty, toolCalls != nil {
                body.append("null")
            } else {
                body.append(UInt8(ascii: "\""))
                body.append(text)
                body.append(UInt8(ascii: "\""))
            }
            return
        }
        body.append(UInt8(ascii: "["))
        var needsComma = false
        if !text.isEmpty {
            body.append("{\"type\":\"text\",\"text\":\"")
            body.append(text)
            body.append("\"}")
            needsComma = true
        }
        try Self.append(images: json.extracting(images), to: &body, after: &needsComma)
        body.append(UInt8(ascii: "]"))
    }

    private static func append(
        images: Span<UInt8>, to body: inout ByteBuffer, after needsComma: inout Bool
    ) throws(JSONError) {
        var reader = JSONReader(images)
        try reader.beginArray()
        while try reader.nextElement() {
            let image = images.extracting(try reader.string().range)
            body.append(needsComma ? "," : "")
            needsComma = true
            body.append("{\"type\":\"image_url\",\"image_url\":{\"url\":\"")
            if let type = image.imageType {
                body.append("data:image/")
                body.append(type)
                body.append(";base64,")
            }
            body.append(image)
            body.append("\"}}")
        }
    }

    private static func append(
        calls json: Span<UInt8>, to body: inout ByteBuffer, naming calls: inout OpenAICallNames
    ) throws(JSONError) {
        var reader = JSONReader(json)
        var needsComma = false
        try reader.beginArray()
        while try reader.nextElement() {
            var (id, name, arguments) = ([UInt8](), [UInt8](), 0..<0)
            try reader.beginObject()
            while let key = try reader.nextKey() {
                if reader.matches(key, "id") {
                    id = json.array(try reader.textOrSkip()?.range)
                } else if reader.matches(key, "function"), try reader.kind() == .object {
                    try reader.beginObject()
                    while let key = try reader.nextKey() {
                        if reader.matches(key, "name") {
                            name = json.array(try reader.textOrSkip()?.range)
                        } else if reader.matches(key, "arguments") {
                            arguments = try reader.skipValue()
                        } else {
                            try reader.skipValue()
                        }
                    }
                } else {
                    try reader.skipValue()
                }
            }
            body.append(needsComma ? ",{\"id\":\"" : "{\"id\":\"")
            needsComma = true
            body.append(calls.id(ofCall: id, name: name))
            body.append("\",\"type\":\"function\",\"function\":{\"name\":\"")
            body.append(name)
            body.append("\",\"arguments\":")
            let text = json.extracting(arguments)
            if text.isEmpty {
                body.append("\"{}\"")
            } else if text[0] == UInt8(ascii: "\"") {
                body.append(text)
            } else {
                body.append(jsonString: text)
            }
            body.append("}}")
        }
    }

    private func appendResultID(
        from json: Span<UInt8>, to body: inout ByteBuffer, naming calls: inout OpenAICallNames
    ) {
        let name = json.array(toolName)
        let (id, isKnown) = calls.id(ofResult: json.array(toolCallID), name: name)
        body.append(",\"tool_call_id\":\"")
        body.append(id)
        body.append(UInt8(ascii: "\""))
        // The name of a known call stands in the call.
        if !isKnown, !name.isEmpty {
            body.append(",\"name\":\"")
            body.append(name)
            body.append(UInt8(ascii: "\""))
        }
    }
}

extension Span<UInt8> {
    /// Whether the bytes are `tool`.
    fileprivate var isTool: Bool { starts(with: "tool") && count == 4 }

    /// The type of an image in Base64, by its first bytes; `nil` for a URL.
    fileprivate var imageType: StaticString? {
        if starts(with: "data:") || starts(with: "http:") || starts(with: "https:") { return nil }
        // A slash may be escaped.
        if starts(with: "/9j/") || starts(with: "\\/9j\\/") { return "jpeg" }
        if starts(with: "UklGR") { return "webp" }
        if starts(with: "R0lGOD") { return "gif" }
        if starts(with: "Qk") { return "bmp" }
        if starts(with: "SUkq") || starts(with: "TU0AK") { return "tiff" }
        if starts(with: "PHN2Z") || starts(with: "PD94bW") { return "svg+xml" }
        return "png"
    }

    private func starts(with text: StaticString) -> Bool {
        withUnsafeBufferPointer {
            $0.starts(with: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        }
    }
}
