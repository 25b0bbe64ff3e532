import ChatterdBasics

/// Encodes records as lines of JSON.
struct LogEncoder: Sendable {
    private let appID: Log.AppID
    /// The texts that no line may show. Keys are added while the process runs.
    private let secrets: Lock<[String]>
    /// Random for each process: appIDs are easily guessed, so a hash that others can compute would not hide them.
    private let salt = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))

    /// Bytes of a text that are kept, so that a pipe takes a line in one piece.
    private static let longText = 600
    private static let shortText = 160

    init(appID: Log.AppID, secrets: [String]) {
        self.appID = appID
        self.secrets = Lock([])
        conceal(secrets)
    }

    /// Removes these texts too from now on.
    func conceal(_ texts: [String]) {
        secrets.withLock { secrets in
            // A very short text would remove half the log.
            secrets += Set(texts).filter { $0.utf8.count >= 4 && !secrets.contains($0) }
            // The longest first: a text may be part of another one.
            secrets.sort { $0.utf8.count > $1.utf8.count }
        }
    }

    /// Appends the line of a request. It is on the path of every request, and is written from prepared pieces.
    func append(_ request: Log.Request, stamp: LogTimestamp, to buffer: inout ByteBuffer) {
        buffer.append("{\"time\":\"")
        stamp.append(to: &buffer)
        buffer.append("\",\"level\":\"info\",\"msg\":\"request\",\"id\":")
        buffer.append(jsonString: Self.cut(request.id, to: Self.shortText))
        buffer.append(",\"route\":")
        buffer.append(jsonString: request.route.text)
        buffer.append(",\"method\":")
        buffer.append(jsonString: Self.cut(request.method, to: Self.shortText))
        buffer.append(",\"status\":")
        buffer.append(decimal: request.status)
        if let app = request.appID.flatMap({ shown(appID: $0) }) {
            buffer.append(",\"app\":")
            buffer.append(jsonString: app)
        }
        if appID != .none, let conversation = request.conversation {
            buffer.append(",\"conversation\":")
            buffer.append(jsonString: digest(conversation))
        }
        buffer.append(",\"bytes_in\":")
        buffer.append(decimal: request.bytesIn)
        buffer.append(",\"bytes_out\":")
        buffer.append(decimal: request.bytesOut)
        if let firstByte = request.firstByte {
            buffer.append(",\"first_byte_ms\":")
            append(milliseconds: firstByte, to: &buffer)
        }
        buffer.append(",\"total_ms\":")
        append(milliseconds: request.total, to: &buffer)
        appendReply(of: request, to: &buffer)
        buffer.append(",\"code\":")
        buffer.append(jsonString: request.code.text)
        buffer.append("}\n")
    }

    /// Appends what is known of the request's reply.
    private func appendReply(of request: Log.Request, to buffer: inout ByteBuffer) {
        if let upstream = request.upstream {
            buffer.append(",\"upstream\":")
            buffer.append(jsonString: Self.cut(upstream, to: Self.shortText))
        }
        if let model = request.model {
            buffer.append(",\"model\":")
            buffer.append(jsonString: Self.cut(model, to: Self.shortText))
        }
        if let tokens = request.promptTokens {
            buffer.append(",\"prompt_tokens\":")
            buffer.append(decimal: tokens)
        }
        if let tokens = request.answerTokens {
            buffer.append(",\"answer_tokens\":")
            buffer.append(decimal: tokens)
        }
        if let firstToken = request.firstToken {
            buffer.append(",\"first_token_ms\":")
            append(milliseconds: firstToken, to: &buffer)
        }
        if let attempts = request.attempts {
            buffer.append(",\"attempts\":")
            buffer.append(decimal: attempts)
        }
    }

    /// Appends the line of an event.
    func append(
        _ level: Log.Level, _ message: StaticString, _ fields: [Log.Field], stamp: LogTimestamp,
        to buffer: inout ByteBuffer
    ) {
        buffer.appendJSON { writer in
            writer.object { line in
                line.name("time")
                line.raw { time in
                    time.append("\"")
                    stamp.append(to: &time)
                    time.append("\"")
                }
                line.member("level", level.rawValue)
                line.member("msg", message.description)
                for field in fields {
                    append(field, to: &line)
                }
            }
        }
        buffer.append("\n")
    }

    private func append(_ field: Log.Field, to line: inout JSONWriter) {
        switch field {
        case .id(let text): line.member("id", Self.cut(text, to: Self.shortText))
        case .appID(let text): line.member("app", shown(appID: text))
        case .upstream(let text): line.member("upstream", Self.cut(text, to: Self.shortText))
        case .next(let text): line.member("next", Self.cut(text, to: Self.shortText))
        case .tool(let text): line.member("tool", Self.cut(text, to: Self.shortText))
        case .hook(let text): line.member("hook", Self.cut(text, to: Self.shortText))
        case .issuer(let text): line.member("issuer", Self.cut(text, to: Self.shortText))
        case .model(let text): line.member("model", Self.cut(text, to: Self.shortText))
        case .address(let text): line.member("address", Self.cut(text, to: Self.shortText))
        case .version(let text): line.member("version", Self.cut(text, to: Self.shortText))
        case .code(let word): line.member("code", Self.cut(word.text, to: Self.shortText))
        case .subject(let word): line.member("subject", Self.cut(word.text, to: Self.shortText))
        case .count(let number): line.member("count", number)
        case .bytes(let number): line.member("bytes", number)
        case .attempt(let number): line.member("attempt", number)
        case .milliseconds(let number): line.member("ms", number)
        case .detail(let text): line.member("detail", Self.cut(withoutSecrets(text), to: Self.longText))
        case .error(let text): line.member("error", Self.cut(withoutSecrets(text), to: Self.longText))
        }
    }

    private func withoutSecrets(_ text: String) -> String {
        var text = text
        for secret in secrets.withLock({ $0 }) {
            text = text.replacing(secret, with: "(secret)")
        }
        return text
    }

    /// A text from outside, cut to `limit` bytes of UTF-8.
    private static func cut(_ text: String, to limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: limit)
        while text.utf8[end] & 0xC0 == 0x80 { end = text.utf8.index(before: end) }
        return text[..<end] + "…"
    }

    /// An appID as the configuration shows it; `nil` to show none.
    private func shown(appID text: String) -> String? {
        switch appID {
        case .none: nil
        case .plain: Self.cut(text, to: Self.shortText)
        case .hash: digest(text)
        }
    }

    /// The same text for the same name, in one process.
    private func digest(_ text: String) -> String { Self.hexadecimal(hash(text) >> 16, digits: 12) }

    /// SipHash, a keyed hash, of the salt and the text.
    private func hash(_ text: String) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(salt.0)
        hasher.combine(salt.1)
        hasher.combine(text)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    private static func hexadecimal(_ value: UInt64, digits: Int) -> String {
        String(unsafeUninitializedCapacity: digits) { text in
            for index in 0..<digits {
                let digit = UInt8(truncatingIfNeeded: value >> UInt64(4 * (digits - 1 - index))) & 0xF
                text[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            }
            return digits
        }
    }

    /// Appends a duration in milliseconds with three decimals.
    private func append(milliseconds duration: Duration, to buffer: inout ByteBuffer) {
        let microseconds = Int(clamping: duration.nanoseconds / 1_000)
        buffer.append(decimal: microseconds / 1_000)
        buffer.append(UInt8(ascii: "."))
        LogTimestamp.append(microseconds % 1_000, digits: 3, to: &buffer)
    }
}
