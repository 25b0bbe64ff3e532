import ChatterdBasics
import ChatterdChat

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
    private var name: Range<Int>?
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
            } else if reader.matches(key, "name") {
                name = inside.isEmpty ? nil : inside
            }
        }
        isPlain = isPlain && !json.extracting(role).isTool
    }

    /// Appends the message in OpenAI's shape.
    ///
    /// - Throws: the error of images that are not strings, or of tool calls that are not objects.
    func append(
        from json: Span<UInt8>, to body: inout ByteBuffer, naming calls: inout ToolCallIDs
    ) throws(JSONError) {
        guard !isPlain else {
            body.append(json.extracting(range))
            return
        }
        try body.appendJSON { writer throws(JSONError) in
            try writer.object { message throws(JSONError) in
                try append(from: json, to: &message, naming: &calls)
            }
        }
    }

    private func append(
        from json: Span<UInt8>, to message: inout JSONWriter, naming calls: inout ToolCallIDs
    ) throws(JSONError) {
        message.member("role", inside: json.extracting(role))
        if let name, !json.extracting(role).isTool { message.member("name", inside: json.extracting(name)) }
        try appendContent(from: json, to: &message)
        if let thinking {
            // Each server reads one of the two names and ignores the other.
            message.member("reasoning", inside: json.extracting(thinking))
            message.member("reasoning_content", inside: json.extracting(thinking))
        }
        if let toolCalls {
            try message.array("tool_calls") { array throws(JSONError) in
                try Self.append(calls: json.extracting(toolCalls), to: &array, naming: &calls)
            }
        }
        if json.extracting(role).isTool {
            appendResultID(from: json, to: &message, naming: &calls)
        }
    }

    private func appendContent(from json: Span<UInt8>, to message: inout JSONWriter) throws(JSONError) {
        message.name("content")
        let text = json.extracting(content)
        guard let images else {
            if text.isEmpty, toolCalls != nil {
                message.null()
            } else {
                message.string(inside: text)
            }
            return
        }
        try message.array { parts throws(JSONError) in
            if !text.isEmpty {
                parts.object { part in
                    part.member("type", "text")
                    part.member("text", inside: text)
                }
            }
            try Self.append(images: json.extracting(images), to: &parts)
        }
    }

    private static func append(images: Span<UInt8>, to parts: inout JSONWriter) throws(JSONError) {
        var reader = JSONReader(images)
        try reader.beginArray()
        while try reader.nextElement() {
            let image = images.extracting(try reader.string().range)
            parts.object { part in
                part.member("type", "image_url")
                part.object("image_url") { object in
                    object.name("url")
                    object.raw { $0.append(imageURL: image) }
                }
            }
        }
    }

    private static func append(
        calls json: Span<UInt8>, to array: inout JSONWriter, naming calls: inout ToolCallIDs
    ) throws(JSONError) {
        var reader = JSONReader(json)
        try reader.beginArray()
        while try reader.nextElement() {
            let call = try ToolCallRanges(from: &reader)
            let name = json.array(call.name)
            let id = calls.id(ofCall: json.array(call.id), name: name)
            array.object { object in
                object.member("id", inside: id.span)
                object.member("type", "function")
                object.object("function") { function in
                    function.member("name", inside: name.span)
                    function.name("arguments")
                    if let arguments = call.arguments {
                        let text = json.extracting(arguments)
                        if text[0] == UInt8(ascii: "\"") { function.raw(text) } else { function.string(text) }
                    } else {
                        function.string("{}")
                    }
                }
            }
        }
    }

    private func appendResultID(
        from json: Span<UInt8>, to message: inout JSONWriter, naming calls: inout ToolCallIDs
    ) {
        let name = json.array(toolName)
        let (id, isKnown) = calls.id(ofResult: json.array(toolCallID), name: name)
        message.member("tool_call_id", inside: id.span)
        // The name of a known call is in the call already.
        if !isKnown, !name.isEmpty {
            message.member("name", inside: name.span)
        }
    }
}

extension ByteBuffer {
    /// Appends a JSON string with the URL of an image, which is Base64 or a URL already.
    fileprivate mutating func append(imageURL image: Span<UInt8>) {
        append(UInt8(ascii: "\""))
        if let type = image.imageType {
            append("data:image/")
            append(type)
            append(";base64,")
        }
        append(image)
        append(UInt8(ascii: "\""))
    }
}

extension Span<UInt8> {
    /// Whether the bytes are `tool`.
    fileprivate var isTool: Bool { starts(with: "tool") && count == 4 }

    /// The type of an image in Base64, by its first bytes; `nil` for a URL.
    fileprivate var imageType: StaticString? {
        if isImageAddress { return nil }
        // A slash may be escaped.
        if starts(with: "/9j/") || starts(with: "\\/9j\\/") { return "jpeg" }
        if starts(with: "UklGR") { return "webp" }
        if starts(with: "R0lGOD") { return "gif" }
        if starts(with: "Qk") { return "bmp" }
        if starts(with: "SUkq") || starts(with: "TU0AK") { return "tiff" }
        // In an ISO base media file a size comes first: ftypavif, ftypheic.
        if count >= 16 {
            let brand = extracting(8..<16)
            if brand.starts(with: "eXBhdmlm") { return "avif" }
            if brand.starts(with: "eXBoZWlj") { return "heic" }
        }
        if starts(with: "PHN2Z") || starts(with: "PD94bW") { return "svg+xml" }
        return "png"
    }

    private func starts(with text: StaticString) -> Bool {
        withUnsafeBufferPointer {
            $0.starts(with: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        }
    }
}
